"""What a message is, and what is to be done with it: automation, rules, the model's answer, safety."""
