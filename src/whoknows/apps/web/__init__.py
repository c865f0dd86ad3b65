"""The web app: label here, and see who knows what, live. `create_app` in ``application.py`` puts it together."""
