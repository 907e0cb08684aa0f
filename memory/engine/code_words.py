"""What a question calls by a word and code writes by a keyword.

"Which parameters does the function take?" is answered by a line that says `def`. Where a history
holds what tools printed, the keywords are searched for, too, and count in the lines that have them.
The keywords are those of the common programming languages; the words are English, with what some
other languages have for the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from memory.engine.terms import exact_terms

_KEYWORDS: tuple[tuple[str, str], ...] = (
    (
        "function method procedure routine signature parameter argument"
        " Funktion Methode fonction méthode paramètre función método parámetro função parâmetro"
        " funzione metodo parametro функция метод параметр συνάρτηση μέθοδος دالة पैरामीटर"
        " 函数 方法 参数 関数 引数 함수 메서드 פונקציה",
        "def function func fn fun sub proc",
    ),
    (
        "error exception failure fail complain crash"
        " Fehler Ausnahme erreur échec error excepción fallo erro exceção errore eccezione"
        " ошибка исключение σφάλμα εξαίρεση خطأ استثناء त्रुटि 错误 异常 例外 오류 예외 שגיאה",
        "error exception raise throw panic",
    ),
)


def _by_term() -> dict[str, tuple[str, ...]]:
    by_term: dict[str, tuple[str, ...]] = {}
    for words, keywords in _KEYWORDS:
        for word in words.split():
            [term] = [term for term in exact_terms(word) if len(term) > 1]
            by_term[term] = tuple(exact_terms(keywords))
    return by_term


_BY_TERM = _by_term()


def code_words(terms: Iterable[str]) -> list[str]:
    """The terms of the keywords that stand for what a question's terms mean, those left out that
    it has itself."""
    asked = dict.fromkeys(terms)
    meant = (keyword for term in asked for keyword in _BY_TERM.get(term, ()))
    return [keyword for keyword in dict.fromkeys(meant) if keyword not in asked]
