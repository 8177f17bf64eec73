"""What needs no server."""

import os
import pathlib
import tempfile
import unittest
from decimal import Decimal
from typing import Any
from unittest import mock

import pawl
from pawl.agent import _pieces
from pawl.canonical import canonical, digest
from pawl.errors import DeterminismError, error_of
from pawl.model import money
from pawl.scope import Scopes


class Canonical(unittest.TestCase):
    def test_the_same_value_is_the_same_bytes(self) -> None:
        self.assertEqual(canonical({"b": [1, None, True], "a": "é"}, "it"), '{"a":"é","b":[1,null,true]}'.encode())
        self.assertEqual(digest({"a": 1, "b": 2}, "it"), digest({"b": 2, "a": 1}, "it"))
        self.assertNotEqual(digest([1], "it"), digest(["1"], "it"))
        self.assertEqual(len(digest(None, "it")), 64)

    def test_what_is_no_json_is_named_with_its_place(self) -> None:
        endless: Any = []
        endless.append(endless)
        for value, place in (({"args": [{"x": pathlib.Path("/")}]}, r"it\['args'\]\[0\]\['x'\] is a PosixPath"),
                             ({1: 2}, "it has the key 1"), ([float("nan")], r"it\[0\] is nan"), (2 ** 63, "64 bits"),
                             ("\ud800", "not a Unicode text"), ({"\ud800": 1}, "the key"), (b"x", "is a bytes"),
                             (endless, "nested")):
            with self.assertRaisesRegex(TypeError, place):
                canonical(value, "it")


class Moneys(unittest.TestCase):
    def test_money_is_never_a_float(self) -> None:
        goods: Any = (("0.0125", "0.0125"), (Decimal("1E+2"), "100"), (3, "3"), ("0.0000001", "0.000001"),
                      (Decimal("1.2345675"), "1.234568"))
        for good, told in goods:
            self.assertEqual(money(good), told)
        bads: Any = (0.5, True)
        for bad in bads:
            self.assertRaises(TypeError, money, bad)
        for wrong in ("-1", "NaN", "Infinity", "five"):
            self.assertRaises(ValueError, money, wrong)


class Errors(unittest.TestCase):
    def test_each_problem_is_a_class(self) -> None:
        error = error_of(409, b'{"type":"urn:pawl:conflict","title":"no","status":409,"detail":"because"}')
        self.assertIsInstance(error, pawl.Conflict)
        self.assertEqual((error.type, error.title, error.status, error.detail, str(error)),
                         ("urn:pawl:conflict", "no", 409, "because", "because"))
        for name, kind in (("invalid", pawl.Invalid), ("foreign", pawl.Foreign), ("not-found", pawl.NotFound),
                           ("too-large", pawl.TooLarge), ("too-many", pawl.TooMany), ("corrupt", pawl.Corrupt),
                           ("unavailable", pawl.Unavailable), ("no-space", pawl.NoSpace)):
            self.assertIs(type(error_of(499, b'{"type":"urn:pawl:%s","detail":"d"}' % name.encode())), kind)

    def test_what_is_no_problem_is_an_error_still(self) -> None:
        for body in (b"", b"<html>", b"[]", b'{"type":"about:blank"}'):
            error = error_of(502, body)
            self.assertIs(type(error), pawl.PawlError)
            self.assertEqual(error.status, 502)
            self.assertIn("502", error.detail)

    def test_a_determinism_error_names_both_hashes(self) -> None:
        error = DeterminismError("f:0", "a" * 64, pawl.Conflict(f"it had {'b' * 64}, now {'a' * 64}"))
        self.assertEqual((error.recorded, error.given), ("b" * 64, "a" * 64))


class Connecting(unittest.TestCase):
    def test_without_a_socket_it_says_what_to_do(self) -> None:
        with mock.patch.dict(os.environ):
            os.environ.pop("PAWL_SOCKET", None)
            with self.assertRaisesRegex(pawl.Unavailable, "(?s)PAWL_SOCKET.*pawl run.*pawl agentd"):
                pawl.connect()

    def test_a_socket_that_nobody_serves(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "s")
            with self.assertRaisesRegex(pawl.Unavailable, path):
                pawl.connect(path).context()

    def test_a_goal_that_would_be_another_header(self) -> None:
        self.assertRaises(ValueError, pawl.connect, "/s", "a\r\nPawl-Episode: b")


class Names(unittest.TestCase):
    """Keys are the same in a process in which steps and children are answered, not run."""

    def test_calls_are_counted_by_name(self) -> None:
        scopes = Scopes()
        self.assertEqual([scopes.step_key(name, "h") for name in ("f", "g", "f")], ["f:0", "g:0", "f:1"])

    def test_what_failed_is_tried_again_under_its_key(self) -> None:
        scopes = Scopes()
        scopes.step_failed("f", "h", scopes.step_key("f", "h"))
        self.assertEqual([scopes.step_key("f", hash) for hash in ("other", "h", "h")], ["f:1", "f:0", "f:2"])

    def test_the_inside_of_a_step_and_of_a_child_count_for_themselves(self) -> None:
        scopes = Scopes()
        for _ in range(2):  # a scope that is entered again counts from the beginning
            with scopes.child("p/0.0"):
                self.assertEqual(scopes.step_key("f", "h"), "p/0.0/f:0")
                with scopes.step("p/0.0/f:0", 2):
                    self.assertEqual(scopes.step_key("f", "h"), "p/0.0/f:0/f:0")
                    self.assertEqual(scopes.current().usage_prefix, "p/0.0/f:0@2")
                    self.assertEqual(scopes.current().child, "p/0.0/")
                self.assertEqual(scopes.step_key("f", "h"), "p/0.0/f:1")
        self.assertEqual(scopes.step_key("f", "h"), "f:0")

    def test_agents_do_not_share_a_scope(self) -> None:
        one, other = Scopes(), Scopes()
        with one.child("c"):
            self.assertEqual(other.step_key("f", "h"), "f:0")


class Steps(unittest.TestCase):
    def test_what_does_not_end_with_its_call_is_no_step(self) -> None:
        agent = pawl.connect("/nowhere")

        async def later() -> None:
            pass

        with self.assertRaisesRegex(TypeError, "later"):
            agent.step()(later)
        with self.assertRaisesRegex(TypeError, "key="):
            agent.step()(mock.Mock(spec=[]))

    def test_arguments_are_refused_before_anything_is_asked(self) -> None:
        agent = pawl.connect("/nowhere")
        with self.assertRaisesRegex(TypeError, r"the arguments of .*\['args'\]\[0\] is a set"):
            agent.step()(list)({1})


class Lines(unittest.TestCase):
    def test_a_long_message_is_cut_between_characters(self) -> None:
        pieces = _pieces("é" * 5000 + "\nb")
        self.assertEqual("".join(pieces), "é" * 5000 + "b")
        self.assertTrue(all(len(piece.encode()) <= 8192 for piece in pieces))
        self.assertEqual(_pieces(""), [""])


if __name__ == "__main__":
    unittest.main()
