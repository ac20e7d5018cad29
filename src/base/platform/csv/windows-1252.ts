/**
 * Tells whether a text is likely in Windows-1252. Any bytes are valid in it, so this looks at where the characters
 * beyond ASCII stand. In languages of Western Europe most of them are letters beside letters of ASCII, and their signs
 * stand outside of words. Words in Cyrillic, Greek or Chinese have bytes beyond ASCII only, and Mac OS Roman and
 * Shift-JIS have their letters where Windows-1252 has signs.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Bytes that are judged in one turn of the event loop, in about a millisecond. */
const STEP = 32_768
/** There is at most one character against it for so many that speak for it. */
const MIN_RATIO = 3

export async function isLikelyWindows1252(file: Buffer): Promise<boolean> {
  let [good, bad] = [0, 0]
  for (let start = 0; start < file.length; start += STEP) {
    const end = Math.min(file.length, start + STEP)
    for (let at = start; at < end; at += 1) {
      if ((file[at] ?? 0) < 0x80) continue
      const verdict = judgeCharacter(file, at)
      if (verdict === 'good') good += 1
      else if (verdict === 'bad') bad += 1
    }
    await nextTurn()
  }
  return bad * MIN_RATIO <= good
}

type Verdict = 'good' | 'bad' | 'neutral'

/** The kind of each byte: a letter of ASCII, a letter of Western Europe, a usual sign, and the others beyond ASCII. */
type Kind = 'ascii' | 'letter' | 'sign' | 'unusual' | 'none'

const APOSTROPHE = 0x92
/** The space that does not break, and the dot of Catalan, may stand in a word. */
const wordSigns: ReadonlySet<number> = new Set([0xa0, 0xb7])

const signs = Buffer.from('8084859192939495969799' + 'a0a1a3a7a9aaabaeb0b2b3b4b5b7babbbcbdbebf' + 'd7f7', 'hex')

const kinds: readonly Kind[] = Array.from({ length: 256 }, (_, byte) => {
  if (signs.includes(byte)) return 'sign'
  if (byte >= 0xc0) return 'letter'
  if (byte >= 0x80) return 'unusual'
  return /[a-z]/i.test(String.fromCharCode(byte)) ? 'ascii' : 'none'
})

function kindAt(file: Buffer, at: number): Kind {
  return kinds[file[at] ?? 0] ?? 'none'
}

function judgeCharacter(file: Buffer, at: number): Verdict {
  const before = kindAt(file, at - 1)
  const after = kindAt(file, at + 1)
  switch (kindAt(file, at)) {
    case 'letter':
      if (before === 'ascii' || after === 'ascii') return 'good'
      return isOfWord(before) || isOfWord(after) ? 'bad' : 'neutral'
    case 'sign':
      return isOfWord(before) && isOfWord(after) ? judgeInWord(file, at) : 'neutral'
    default:
      return 'bad'
  }
}

function isOfWord(kind: Kind): boolean {
  return kind === 'ascii' || kind === 'letter' || kind === 'unusual'
}

/** An apostrophe stands after the first letters of a word (O’Brien, Qu’ils), or before its last one (don’t). */
function judgeInWord(file: Buffer, at: number): Verdict {
  const sign = file[at] ?? 0
  if (wordSigns.has(sign)) return 'neutral'
  if (sign !== APOSTROPHE) return 'bad'
  const isEarly = !isOfWord(kindAt(file, at - 2)) || !isOfWord(kindAt(file, at - 3))
  const isLate = /^[st]$/i.test(String.fromCharCode(file[at + 1] ?? 0)) && !isOfWord(kindAt(file, at + 2))
  return isEarly || isLate ? 'good' : 'bad'
}
