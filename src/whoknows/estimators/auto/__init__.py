"""AutoCrowdClassifier: members, their held-out scores, their weights."""
