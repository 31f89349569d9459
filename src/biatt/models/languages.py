"""The names of languages, by the codes of ISO 639 that treebanks and models are named by."""

from __future__ import annotations

LANGUAGES = {
    "af": "Afrikaans", "ar": "Arabic", "be": "Belarusian", "bg": "Bulgarian", "br": "Breton", "ca": "Catalan",
    "cop": "Coptic", "cs": "Czech", "cu": "Old Church Slavonic", "cy": "Welsh", "da": "Danish",
    "de": "German", "el": "Greek", "en": "English", "es": "Spanish", "et": "Estonian", "eu": "Basque",
    "fa": "Persian", "fi": "Finnish", "fo": "Faroese", "fr": "French", "ga": "Irish", "gd": "Scottish Gaelic",
    "gl": "Galician", "got": "Gothic", "grc": "Ancient Greek", "gv": "Manx", "he": "Hebrew", "hi": "Hindi",
    "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "is": "Icelandic",
    "it": "Italian", "ja": "Japanese", "ka": "Georgian", "kk": "Kazakh", "ko": "Korean", "ky": "Kyrgyz",
    "la": "Latin", "lt": "Lithuanian", "lv": "Latvian", "mr": "Marathi", "mt": "Maltese", "nb": "Norwegian",
    "nl": "Dutch", "nn": "Norwegian Nynorsk", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sa": "Sanskrit", "se": "North Sami", "sk": "Slovak", "sl": "Slovene",
    "sq": "Albanian", "sr": "Serbian", "sv": "Swedish", "ta": "Tamil", "te": "Telugu", "th": "Thai",
    "tl": "Tagalog", "tr": "Turkish", "ug": "Uyghur", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese",
    "wo": "Wolof", "yue": "Cantonese", "zh": "Chinese",
}  # fmt: skip
