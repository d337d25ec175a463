from router.domain.messages import Option
from router.entities import choices
from router.entities.normalisation import normalise
from router.flow.slot_types.slot import Choice
from tests.table import each_row
from tests.unit.entities.tables import table
from tests.unit.understanding.flows import LEAVE

KIND = LEAVE.slots["leave_type"]
OFFERED = [Option(label="请假申请", value="leave_request"), Option(label="费用报销", value="claim")]


@each_row(("typed", "value"), table("choices", "an answer chooses"))
def test_an_answer_chooses(typed: str, value: str) -> None:
    assert choices.answered_choice(KIND.choices, normalise(typed).text) == value


@each_row("typed", ["9", "0", "年假还是病假", "假", "a", "annually", "什么都行", ""])
def test_an_answer_that_chooses_nothing(typed: str) -> None:
    assert choices.answered_choice(KIND.choices, normalise(typed).text) is None


@each_row("typed", ["anual", "Anual leave", "annuel", "annaul", "anual, from Monday"])
def test_a_slip_of_the_finger_in_a_long_word_is_read(typed: str) -> None:
    assert choices.answered_choice(KIND.choices, normalise(typed).text) == "annual"


@each_row("typed", ["sikc", "manual", "my anual report", "年家", "perternity"])
def test_no_slip_is_made_of_a_short_word_of_another_or_of_one_among_others(typed: str) -> None:
    assert choices.answered_choice(KIND.choices, normalise(typed).text) is None


def test_in_a_text_of_very_many_clauses_no_slip_is_looked_for() -> None:
    text = "anual leave, " + "0, " * choices.MOST_CLAUSES
    assert choices.answered_choice(KIND.choices, normalise(text).text) is None


def test_a_slip_that_two_choices_are_as_near_to_chooses_none() -> None:
    named = {name: Choice(label={"zh": name, "en": name}) for name in ("maple", "marle")}
    assert choices.answered_choice(named, "mable") is None


def test_what_is_found_is_the_longest_phrase_of_whole_words_and_its_own_name_before_hints() -> None:
    assert [f.value for f in choices.find_choices(KIND.choices, "陪产假")] == ["paternity"]
    assert choices.find_choices(KIND.choices, "homesickness") == []
    found = choices.only_choice(KIND.choices, "年假,去看病")
    assert found is not None
    assert found.value == "annual"


def test_a_number_must_be_within_the_list() -> None:
    assert choices.chosen_number("3", 2) is None
    assert choices.chosen_number("2", 2) == 1


@each_row("typed", ["请假", "请假申请", "1", "第一个", "leave_request"])
def test_an_offered_option_is_picked_in_words(typed: str) -> None:
    picked = choices.chosen_option(OFFERED, normalise(typed).text)
    assert picked is not None
    assert picked.value == "leave_request"


@each_row("typed", ["都不是", "取消请假", "cancel my leave request", "3", "天气"])
def test_nothing_is_picked_that_was_not_offered(typed: str) -> None:
    assert choices.chosen_option(OFFERED, normalise(typed).text) is None
