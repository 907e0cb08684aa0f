"""Who may come in: the owner of an embedded installation, and sign-in links."""
