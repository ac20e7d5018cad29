/**
 * The beginnings of what a regular expression can match, as far as its source shows them. A pattern need not be
 * searched for in a text that has none of them.
 *
 * Only patterns that match at the beginning of a word, or from a sign on, have beginnings. It understands what patterns
 * of wording are made of: alternatives, groups, optional parts, small classes. Anything else ends a beginning early, so
 * it may have too few characters, and never a wrong one.
 */

/** Characters of a beginning. */
export const OPENING_LENGTH = 4
/** Beginnings of one part of a pattern; with more there are none. */
const MAX_OPENINGS = 2_000
/** Characters that a class may stand for. */
const MAX_CLASS = 12

interface Opening {
  readonly text: string
  /** Nothing is known about the text that follows. */
  readonly isEnd: boolean
}

const empty: readonly Opening[] = [{ text: '', isEnd: false }]
const unknown: readonly Opening[] = [{ text: '', isEnd: true }]
const digits = toOpenings([...'0123456789'])

/**
 * After it, a match begins where a word does, or at least not after a letter: `\b`, `(?<![\w…])`, `(?<![a-z…])`,
 * `(?<!\S)`.
 */
const anchorPattern = /\\b|\(\?<!(?:\[(?:\\w|a-z)[^\]\\]*\]|\\S)\)/y

/** Null if it may match anywhere, or anything. */
export function listOpenings({ source, flags }: RegExp): readonly string[] | null {
  if (/[iuvsy]/.test(flags)) return null
  const reader = new PatternReader(source)
  const all: string[] = []
  for (;;) {
    anchorPattern.lastIndex = reader.at
    const isAnchored = anchorPattern.test(source)
    const found = reader.readSequence().map(({ text }) => text)
    if (found.some((text) => !/^\S/.test(text) || (!isAnchored && /^\w/.test(text)))) return null
    all.push(...found)
    if (!reader.skip('|')) break
  }
  return reader.at === source.length ? [...new Set(all)] : null
}

class PatternReader {
  at = 0

  constructor(private readonly source: string) {}

  skip(text: string): boolean {
    if (!this.source.startsWith(text, this.at)) return false
    this.at += text.length
    return true
  }

  readSequence(): readonly Opening[] {
    let openings = empty
    while (this.at < this.source.length && !this.isNext('|') && !this.isNext(')')) {
      openings = join(openings, this.readTerm())
    }
    return openings
  }

  private isNext(text: string): boolean {
    return this.source.startsWith(text, this.at)
  }

  private readTerm(): readonly Opening[] {
    const atom = this.readAtom()
    const [written, least, most] = /^(?:[?*+]|\{(\d+)(?:,(\d*))?\})\??/.exec(this.source.slice(this.at)) ?? []
    if (written === undefined) return atom
    this.at += written.length
    if (written.startsWith('?')) return [...empty, ...atom]
    const isOptional = written.startsWith('*') || least === '0'
    if (least === '1' && most === '1') return atom
    const repeated = atom.map(({ text }) => ({ text, isEnd: true }))
    return isOptional ? [...empty, ...repeated] : repeated
  }

  private readAtom(): readonly Opening[] {
    if (this.skip('(')) return this.readGroup()
    if (this.skip('[')) return this.readClass()
    if (this.skip('\\')) return this.readEscape()
    const character = this.source.charAt(this.at)
    this.at += 1
    if (character === '^' || character === '$') return empty
    return character === '.' ? unknown : toOpenings([character])
  }

  private readGroup(): readonly Opening[] {
    const isWidthless = ['?=', '?!', '?<=', '?<!'].some((mark) => this.skip(mark))
    const isKnown = this.skip('?:') || !this.isNext('?')
    const openings: Opening[] = []
    do openings.push(...this.readSequence())
    while (this.skip('|'))
    this.skip(')')
    if (isWidthless) return empty
    return isKnown ? openings : unknown
  }

  private readClass(): readonly Opening[] {
    const written = /^(?:[^\]\\]|\\[\s\S])*\]/.exec(this.source.slice(this.at))?.[0] ?? ''
    this.at += written.length
    const members = written.slice(0, -1)
    const isPlain = members !== '' && members.length <= MAX_CLASS && !/^\^|\\|.-./.test(members)
    return isPlain ? toOpenings([...members]) : unknown
  }

  private readEscape(): readonly Opening[] {
    const character = this.source.charAt(this.at)
    this.at += 1
    if (character === 'b') return empty
    if (character === 'd') return digits
    return /\w/.test(character) ? unknown : toOpenings([character])
  }
}

function toOpenings(texts: readonly string[]): readonly Opening[] {
  return texts.map((text) => ({ text, isEnd: false }))
}

function join(firsts: readonly Opening[], seconds: readonly Opening[]): readonly Opening[] {
  const joined = new Map<string, Opening>()
  for (const first of firsts) {
    for (const second of first.isEnd ? empty : seconds) {
      const text = `${first.text}${second.text}`.slice(0, OPENING_LENGTH)
      const isEnd = first.isEnd || second.isEnd || text.length === OPENING_LENGTH
      joined.set(`${isEnd}${text}`, { text, isEnd })
    }
    if (joined.size > MAX_OPENINGS) return unknown
  }
  return [...joined.values()]
}
