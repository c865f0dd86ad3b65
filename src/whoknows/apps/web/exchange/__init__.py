"""Files that people bring and take away: uploads, read in a process of their own, and exports."""
