"""What tools/slurm/submit.sh asks of sbatch, which a script stands for; slurm_test.py runs a real Slurm."""

import os
import pathlib
import subprocess
import tempfile
import unittest

SUBMIT = pathlib.Path(__file__).resolve().parents[2] / "tools/slurm/submit.sh"


class Submit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        sbatch = self.folder / "sbatch"
        sbatch.write_text(f'#!/bin/sh\necho "$@" >> {self.folder}/calls\nwc -l < {self.folder}/calls\n')
        sbatch.chmod(0o755)
        self.output = self.folder / "out"

    def submit(self, *options):
        """The finished script and the calls of sbatch, one a line."""
        calls = self.folder / "calls"
        calls.unlink(missing_ok=True)
        environment = dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}", HEADSCOPE="true")
        finished = subprocess.run([SUBMIT, "2", *map(str, options)], env=environment, capture_output=True, text=True)
        return finished, calls.read_text().splitlines() if calls.exists() else []

    def n_array(self, *options):
        finished, calls = self.submit(f"--output={self.output}", *options)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return len([call for call in calls if "--array=1-2" in call])

    def test_every_form_of_output_is_taken(self):
        for output in (["--output", self.output], ["-o", self.output], [f"--output={self.output}"], [f"-o{self.output}"]):
            finished, calls = self.submit(*output)
            self.assertEqual((finished.returncode, finished.stderr), (0, ""), output)
            self.assertTrue(calls[-1].endswith(f"merge.sh {self.output}"), calls[-1])

    def test_tasks_make_more_arrays_wherever_they_are_named(self):
        config = self.folder / "run.conf"
        config.write_text("model = gpt2.h5\n")
        self.assertEqual(self.n_array(), 15)
        self.assertEqual(self.n_array("--model", "gpt2.h5"), 4)
        self.assertEqual(self.n_array("--model=gpt2.h5", "--tasks=t.jsonl"), 15)
        self.assertEqual(self.n_array("--config", config), 4)
        config.write_text("model = gpt2.h5\n  tasks=t.jsonl\n")
        self.assertEqual(self.n_array(f"--config={config}"), 15)

    def test_results_are_replaced_only_by_force(self):
        self.output.mkdir()
        (self.output / "results.h5").touch()
        finished, calls = self.submit("--output", self.output)
        self.assertEqual((finished.returncode, calls), (1, []))
        self.assertEqual(finished.stderr, f"submit: {self.output} holds the results of a finished run; --force replaces them, "
                                          "or choose another folder\n")
        self.assertEqual(self.n_array("--force"), 15)

    def test_switches_in_the_config_are_taken(self):
        self.output.mkdir()
        (self.output / "results.h5").touch()
        config = self.folder / "run.conf"
        for value, is_on in {"true": True, "'yes' # all": True, "false": False, "'Off' # none": False}.items():
            config.write_text(f"mixed = {value}\n")
            finished, calls = self.submit("--output", self.output, "--config", config, "--force")
            self.assertEqual(calls[-1].endswith(f"merge.sh {self.output} --mixed"), is_on, value)
            config.write_text(f"force = {value}\n")
            finished, calls = self.submit("--output", self.output, "--config", config)
            self.assertEqual(finished.returncode, 0 if is_on else 1, value)

    def test_without_output_nothing_is_submitted(self):
        for options in ([], ["--model", "gpt2.h5"]):
            finished, calls = self.submit(*options)
            self.assertEqual((finished.returncode, calls), (2, []))


if __name__ == "__main__":
    unittest.main()
