"""Who may do what: headers, sessions, roles."""
