"""One module a group of op families; each lists recordable cases."""
