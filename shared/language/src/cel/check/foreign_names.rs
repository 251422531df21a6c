//! Names that functions have in other languages.

/// The name that a function has elsewhere, and the one that it has here.
const FOREIGN: [(&str, &str); 16] = [
    ("default", "orValue"),
    ("getOrDefault", "orValue"),
    ("getOrElse", "orValue"),
    ("orDefault", "orValue"),
    ("orElse", "orValue"),
    ("len", "size"),
    ("length", "size"),
    ("lower", "lowerAscii"),
    ("toLower", "lowerAscii"),
    ("toLowerCase", "lowerAscii"),
    ("upper", "upperAscii"),
    ("toUpper", "upperAscii"),
    ("toUpperCase", "upperAscii"),
    ("str", "string"),
    ("toString", "string"),
    ("toInt", "int"),
];

/// Returns the function that does here what the one of this name does in other languages.
pub(super) fn function_meant(name: &str) -> Option<&'static str> {
    FOREIGN.iter().find(|(foreign, _)| foreign.eq_ignore_ascii_case(name)).map(|(_, own)| *own)
}
