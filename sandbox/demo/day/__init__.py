"""`make demo DAY=1`: a day of three people's mail in two orgs, with everything that goes wrong on a day."""
