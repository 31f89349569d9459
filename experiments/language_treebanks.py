"""The treebanks of the models of languages: release, licence, authors, and what other parsers score."""

from __future__ import annotations

from typing import NamedTuple

UD = "https://github.com/UniversalDependencies/UD_"


class Treebank(NamedTuple):
    folder: str
    name: str  # with its release
    licence: str
    source: str  # address
    authors: str
    citation: str = ""
    notes: str = ""  # sentences for the card
    published: str = ""  # raw-text LAS of Stanza (UD 2.12) and UDPipe 2 (UD 2.17) on this treebank
    settings: tuple[str, ...] = ()  # beside those of all languages
    whole_licence: bool = False  # the package has to contain its text, which the treebank's folder has
    lacks: tuple[str, ...] = ()  # metrics that mean nothing, because the treebank lacks the column


RESTORED = (
    "The files do not say where spaces are: rules have restored them (`biatt detokenise`), in test too."
)
NO_LEMMAS = "They have no lemmas, and the model gives none."

TREEBANKS = {
    "af": Treebank(
        "afrikaans-afribooms",
        "UD Afrikaans AfriBooms",
        "CC BY-SA 4.0",
        UD + "Afrikaans-AfriBooms",
        "Peter Dirix, Liesbeth Augustinus and Daniel van Niekerk",
        notes="The texts are public documents of the government.",
    ),
    "da": Treebank(
        "danish-conllx",
        "Danish Dependency Treebank, CoNLL-X",
        "CC BY-SA 4.0",
        "https://github.com/mbkromann/copenhagen-dependency-treebank",
        "Matthias Buch-Kromann and others, Copenhagen Business School, with part-of-speech tags of PAROLE-DK",
        "Buch-Kromann, Mikkelsen and Lynge, *Danish Dependency Treebank*, TLT 2003",
        "The Copenhagen Dependency Treebanks are also under the MIT licence. Labels are those of the "
        "treebank, "
        f"not of Universal Dependencies. {RESTORED} {NO_LEMMAS}",
        "86.61 / 86.60",
        lacks=("Lemmas",),
    ),
    "fr": Treebank(
        "french-sequoia",
        "UD French Sequoia",
        "LGPL-LR",
        UD + "French-Sequoia",
        "Marie Candito, Djamé Seddah, Guy Perrier and Bruno Guillaume",
        "Candito and Seddah, *Le corpus Sequoia : annotation syntaxique et exploitation pour l'adaptation "
        "d'analyseur par pont lexical*, TALN 2012",
        "LGPL-LR is the Lesser General Public License For Linguistic Resources. The model is a work "
        "based on "
        "such a resource: you may use it freely, copy it, and change it; who passes it on, changed or "
        "not, does "
        "so at no charge, under the same licence, with its text, and with a note of what was changed "
        "and when. "
        "There is no warranty. The text of the licence is in LICENSE.txt.",
        whole_licence=True,
    ),
    "ga": Treebank(
        "irish-idt",
        "UD Irish IDT 2.6",
        "CC BY-SA 3.0",
        UD + "Irish-IDT",
        "Teresa Lynn, Jennifer Foster, Sarah McGuinness, Abigail Walsh and Jason Phelan",
    ),
    "is": Treebank(
        "icelandic-modern",
        "UD Icelandic Modern, October 2022",
        "CC BY-SA 4.0",
        UD + "Icelandic-Modern",
        "Kristján Rúnarsson, Þórunn Arnardóttir, Hinrik Hafsteinsson, Starkaður Barkarson, Hildur "
        "Jónsdóttir, "
        "Steinþór Steingrímsson and Einar Freyr Sigurðsson",
        notes="The texts are speeches in parliament and news of sports.",
    ),
    "ja": Treebank(
        "japanese-gsd",
        "UD Japanese GSD 2.9",
        "CC BY-SA 4.0",
        UD + "Japanese-GSD",
        "Mai Omura, Yusuke Miyao, Hiroshi Kanayama, Hiroshi Matsuda, Aya Wakasa, Kayo Yamashita, Masayuki "
        "Asahara, Takaaki Tanaka, Yugo Murawaki, Yuji Matsumoto, Shinsuke Mori, Sumire Uematsu, Ryan "
        "McDonald, "
        "Joakim Nivre and Daniel Zeman",
        "Asahara et al., *Universal Dependencies Version 2 for Japanese*, LREC 2018",
        "The training file does not say where spaces are: rules have restored them (`biatt detokenise`).",
        "89.29 / 87.28",
        settings=("embedding=64", "tokeniser.embedding=24"),  # many characters: with 96 and 32, 8.3 MB
    ),
    "ko": Treebank(
        "korean-gsd",
        "UD Korean GSD 2.10",
        "CC BY-SA 4.0",
        UD + "Korean-GSD",
        "Ryan McDonald, Joakim Nivre, Daniel Zeman, Jinho Choi, Na-Rae Han, Jena Hwang and Jayeol Chun",
        "Chun, Han, Hwang and Choi, *Building Universal Dependency Treebanks in Korean*, LREC 2018",
        settings=("embedding=48", "tokeniser.embedding=24"),  # many word forms: with 96 and 32, 9.4 MB
    ),
    "nb": Treebank(
        "norwegian-bokmaal",
        "UD Norwegian Bokmaal 2.16, dev",
        "CC BY-SA 4.0",
        UD + "Norwegian-Bokmaal",
        "Ingerid Løyning Dale, Per Erik Solberg, Andre Kåsen, Lilja Øvrelid, Fredrik Jørgensen and "
        "Petter Hohle",
        "Øvrelid and Hohle, *Universal Dependencies for Norwegian*, LREC 2016",
        "The model was trained on the first nine tenths of the dev file and chosen by the rest.",
    ),
    "nl": Treebank(
        "dutch-lassysmall",
        "UD Dutch LassySmall 1.4",
        "CC BY-SA 4.0",
        UD + "Dutch-LassySmall",
        "Gosse Bouma and Gertjan van Noord",
        "van Noord et al., *Large Scale Syntactic Annotation of Written Dutch: Lassy*, 2013",
        f"The texts are of Wikipedia. Labels are those of early Universal Dependencies. {RESTORED}",
        "85.32 / 91.65",
    ),
    "pt": Treebank(
        "portuguese-bosque",
        "UD Portuguese Bosque 2.16",
        "CC BY-SA 4.0",
        UD + "Portuguese-Bosque",
        "Alexandre Rademaker, Cláudia Freitas, Elvis de Souza, Aline Silveira, Tatiana Cavalcanti, "
        "Wograine "
        "Evelyn, Luisa Rocha, Isabela Soares-Bastos, Eckhard Bick, Fabricio Chalub, Guilherme "
        "Paulino-Passos, "
        "Livy Real, Valeria de Paiva, Daniel Zeman, Martin Popel, David Mareček, Natalia Silveira and "
        "André "
        "Martins",
        "Rademaker et al., *Universal Dependencies for Portuguese*, Depling 2017",
        published="87.75 / 89.84",
    ),
    "ru": Treebank(
        "russian-taiga",
        "UD Russian Taiga 2.7",
        "CC BY-SA 4.0",
        UD + "Russian-Taiga",
        "Olga Lyashevskaya, Olga Rudina, Natalia Vlasova and Anna Zhuravleva",
        notes="The texts are of blogs, social media, poetry, fiction, news and Wikipedia.",
    ),
    "sv": Treebank(
        "swedish-talbanken",
        "Talbanken, early UD conversion",
        "CC BY-SA 4.0",
        UD + "Swedish-Talbanken",
        "Joakim Nivre, Aaron Smith and Victor Norrman, of the Talbanken of Lund University",
        "Nivre and Megyesi, *Bootstrapping a Swedish Treebank Using Cross-Corpus Harmonization and "
        "Annotation "
        "Projection*, 2007",
        f"Labels are those of early Universal Dependencies. {RESTORED} {NO_LEMMAS}",
        "87.85 / 90.52",
        lacks=("Lemmas",),
    ),
    "uk": Treebank(
        "ukrainian-parlamint",
        "UD Ukrainian ParlaMint 2.15",
        "CC BY-SA 4.0",
        UD + "Ukrainian-ParlaMint",
        "Maria Shvedova and Arsenii Lukashevskyi",
        notes="The texts are speeches in parliament.",
    ),
}
