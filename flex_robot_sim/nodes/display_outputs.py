"""The picture of an arm."""


class DisplayOutputs:
    def __init__(self, node, arm, settings):
        pass

    def change(self, settings):
        pass

    def show(self, stamp, q):
        pass
