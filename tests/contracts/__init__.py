import pytest

pytest.register_assert_rewrite("tests.contracts.annotator_contract", "tests.contracts.truth_contract")
