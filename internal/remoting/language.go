// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

// Language of the sender (RocketMQ: LanguageCode; the ordinal travels in binary
// headers, the name in JSON ones).
type Language uint8

// The languages RocketMQ knows. LanguageUnknown stands for any other name or
// number; RocketMQ reads those as null.
const (
	LanguageJava    Language = 0
	LanguageCPP     Language = 1
	LanguageDotnet  Language = 2
	LanguagePython  Language = 3
	LanguageDelphi  Language = 4
	LanguageErlang  Language = 5
	LanguageRuby    Language = 6
	LanguageOther   Language = 7
	LanguageHTTP    Language = 8
	LanguageGo      Language = 9
	LanguagePHP     Language = 10
	LanguageOMS     Language = 11
	LanguageRust    Language = 12
	LanguageNodeJS  Language = 13
	LanguageUnknown Language = 0xFF
)

var languageNames = [...]string{
	LanguageJava:   "JAVA",
	LanguageCPP:    "CPP",
	LanguageDotnet: "DOTNET",
	LanguagePython: "PYTHON",
	LanguageDelphi: "DELPHI",
	LanguageErlang: "ERLANG",
	LanguageRuby:   "RUBY",
	LanguageOther:  "OTHER",
	LanguageHTTP:   "HTTP",
	LanguageGo:     "GO",
	LanguagePHP:    "PHP",
	LanguageOMS:    "OMS",
	LanguageRust:   "RUST",
	LanguageNodeJS: "NODE_JS",
}

// String is RocketMQ's name: JAVA, CPP, GO; "UNKNOWN" for what it does not know.
func (l Language) String() string {
	if int(l) < len(languageNames) {
		return languageNames[l]
	}
	return "UNKNOWN"
}

// LanguageOf finds a language by its name, LanguageUnknown if there is none.
func LanguageOf(name string) Language { return languageOf([]byte(name)) }

func languageOf(name []byte) Language {
	for i := range languageNames {
		if string(name) == languageNames[i] {
			return Language(i)
		}
	}
	return LanguageUnknown
}

// languageAt finds a language by its ordinal.
func languageAt(n int64) Language {
	if n >= 0 && n < int64(len(languageNames)) {
		return Language(n)
	}
	return LanguageUnknown
}
