def first(text):
    return text.split()[0]


def shout(text):
    return text.upper() + "!"


def count(text):
    return len(text.split())
