/** Rules on tricks with letters and charsets. */
import { countInvisibleInWords, countMixedWords, hasDirectionOverride } from '../facts/script-facts.js'
import { firstFieldOf, type SpamFacts } from '../facts/spam-facts.js'
import type { SpamRule } from './spam-rule.js'

const MAX_BODY = 40_000

/** Subject, authors and bodies, as far as they may hold anything but ASCII. */
function listForeignTexts({ message, html, isAscii }: SpamFacts): readonly string[] {
  const names = message.from.map(({ name }) => name)
  if (isAscii) return names
  return [message.subject, ...names, (message.text ?? '').slice(0, MAX_BODY), html.visibleText.slice(0, MAX_BODY)]
}

/** Adds up the counts of all texts of the list. No word goes on from one text to the next. */
function sumOf(texts: readonly string[], count: (text: string) => number): number {
  return texts.reduce((sum, text) => sum + count(text), 0)
}

function countBetween(text: string, first: string, last: string): number {
  const [from, to] = [first.charCodeAt(0), last.charCodeAt(0)]
  let count = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code >= from && code <= to) count += 1
  }
  return count
}

const nonAscii = /[^\x20-\x7e\t]/

export const charsetRules: readonly SpamRule[] = [
  {
    name: 'MIXED_ALPHABETS',
    weight: 2.6,
    description: 'the message has words that mix several alphabets',
    test: (facts) => sumOf(listForeignTexts(facts), countMixedWords) > 1,
  },
  {
    name: 'AUTHOR_MIXED_ALPHABETS',
    weight: 2.5,
    description: "an author's name mixes several alphabets",
    test: ({ message }) => message.from.some(({ name }) => countMixedWords(name) > 0),
  },
  {
    name: 'UNSEEN_CHARACTERS',
    weight: 2,
    description: 'invisible characters split words of the message',
    test: (facts) => sumOf(listForeignTexts(facts), countInvisibleInWords) > 2,
  },
  {
    name: 'HEADER_UNSEEN_CHARACTERS',
    weight: 2,
    description: "invisible characters split words of the subject or of an author's name",
    test: ({ message }) =>
      countInvisibleInWords(message.subject) > 0 ||
      message.from.slice(0, 5).some(({ name }) => countInvisibleInWords(name) > 0),
  },
  {
    name: 'SUBJECT_MIXED_ALPHABETS',
    weight: 1.5,
    description: 'a word of the subject mixes several alphabets',
    test: ({ message }) => countMixedWords(message.subject.slice(0, 1_000)) > 0,
  },
  {
    name: 'STYLED_LETTERS',
    weight: 1.8,
    description: "the subject or an author's name has mathematical letters",
    test: ({ message }) =>
      [message.subject, ...message.from.slice(0, 5).map(({ name }) => name)].some((shown) =>
        /[\u{1d400}-\u{1d7ff}\u{1f130}-\u{1f169}\u24b6-\u24e9]{3}/u.test(shown.slice(0, 1_000)),
      ),
  },
  {
    name: 'TEXT_REVERSED',
    weight: 2,
    description: "the subject or an author's name has characters that change the reading direction",
    test: ({ message }) =>
      hasDirectionOverride(message.subject) || message.from.some(({ name }) => hasDirectionOverride(name)),
  },
  {
    name: 'HEADER_RAW_8BIT',
    weight: 1,
    description: 'the subject or From has non-ASCII letters that are not encoded',
    test: (facts) => nonAscii.test(firstFieldOf(facts, 'subject')) || nonAscii.test(firstFieldOf(facts, 'from')),
  },
  {
    name: 'CHARSET_MISSING',
    weight: 1.6,
    description: 'the message has non-ASCII letters but names no charset',
    test: (facts) =>
      !facts.isAscii &&
      /[\u0080-\uffff]{3}/.test(facts.words) &&
      facts.message.parts.every(({ charset }) => charset === '' || charset === 'us-ascii'),
  },
  {
    name: 'CHARSET_UNKNOWN',
    weight: 1.5,
    description: 'the message names an unknown charset',
    test: ({ message }) =>
      message.parts.some(({ charset }) => charset !== '' && !/^[\w.:+-]{2,40}$/.test(charset.replace(/'/g, ''))) ||
      message.parts.some(({ charset }) => /^(?:default|unknown|x-unknown|none|charset|%.*)$/.test(charset)),
  },
  {
    name: 'SHOUTING',
    weight: 1.3,
    description: 'a large part of the text is in capitals',
    test: ({ body, capitals: most }) => {
      if (most <= 100) return false
      const beginning = body.slice(0, 8_000)
      const capitals = countBetween(beginning, 'A', 'Z')
      return capitals > 100 && capitals * 3 > countBetween(beginning, 'a', 'z')
    },
  },
  {
    name: 'SHOUTED_LINES',
    weight: 0.2,
    description: 'the text has several rows of words in capitals',
    // Two matches have sixteen capitals.
    test: ({ body, capitals }) => capitals >= 16 && (body.match(/(?:\b[A-Z]{2,}[ ,!$.]{1,3}){4}/g)?.length ?? 0) > 1,
  },
  {
    name: 'MANY_EXCLAMATIONS',
    weight: 1.3,
    description: 'the text has many exclamation marks in a row or close together',
    test: ({ words }) => words.includes('!') && /!{3}|(?:![^!]{1,80}){5}!/.test(words.slice(0, 10_000)),
  },
  {
    name: 'GAPPED_WORDS',
    weight: 0.3,
    description: 'the text has words with spaces or signs between their letters',
    test: ({ words, capitals, dots }) =>
      (capitals >= 5 || dots >= 4) && /\b(?:[A-Z] ){4}[A-Z]\b|\b(?:[a-z][*_.]){4}[a-z]\b/.test(words),
  },
]
