/**
 * Hides the local parts of addresses in log lines: each becomes a keyed hash of its address, so that lines about one
 * address can still be found together, within one installation only.
 *
 * It works on the finished line, whichever room wrote it. Where a line names an address, its local part is hidden in the
 * sentences of that line too: servers repeat it in their replies without the domain. A local part in a line without any
 * address cannot be recognized. Linear in the length of the line.
 */
import { createHmac, hkdfSync, type KeyObject } from 'node:crypto'
import { createLruCache } from './lru-cache.js'

const MAX_KNOWN_HASHES = 10_000
/**
 * Characters. Longer local parts are hidden in part, but no server takes them (RFC 5321 section 4.5.3.1.1 allows 64
 * octets).
 */
const MAX_LOCAL_PART = 512
/** Local parts of one line that are looked for in its sentences. */
const MAX_WORDS = 50
const HASH_DIGITS = 16
const KEY_CONTEXT = 'posthorn log addresses'

/** Fields with sentences of ours. A hash in place of an ordinary word, such as "full", would reveal the local part. */
const ownTexts: ReadonlySet<string> = new Set(['msg', 'sentence'])

/** Returns the mark that replaces the local part of this address. */
type HashAddress = (address: string) => string

export class AddressHider {
  private readonly known = createLruCache<string>({ max: MAX_KNOWN_HASHES })
  private key: Buffer | null = null

  constructor(private isEnabled: boolean) {}

  /** From now on, hides with hashes of this secret. Before that, all local parts become the same mark. */
  useKey(secret: KeyObject): void {
    this.key = Buffer.from(hkdfSync('sha256', secret, '', KEY_CONTEXT, 32))
  }

  setEnabled(isEnabled: boolean): void {
    this.isEnabled = isEnabled
  }

  /** A line as pino writes it, with its end of line. */
  hide(line: string): string {
    return this.isEnabled && mayHoldAddress(line) ? hideInLine(line, (address) => this.hash(address)) : line
  }

  private hash(address: string): string {
    if (this.key === null) return '~'
    const cached = this.known.get(address)
    if (cached !== undefined) return cached
    const made = `~${createHmac('sha256', this.key).update(address).digest('hex').slice(0, HASH_DIGITS)}`
    this.known.set(address, made)
    return made
  }
}

function mayHoldAddress(text: string): boolean {
  return text.includes('@') || text.includes('%40')
}

function hideInLine(line: string, hash: HashAddress): string {
  const words = new Map<string, string>()
  const hidden = mapTexts(parseLine(line), (text) => hideAddresses(text, hash, words))
  const shown = mapTexts(hidden, (text, key) => (ownTexts.has(key) ? text : hideWords(text, words)))
  return typeof shown === 'string' ? shown : `${JSON.stringify(shown)}\n`
}

/** The line itself if it is not JSON. */
function parseLine(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return line
  }
}

/** A copy of the value, with each text in it, names of fields included, replaced. */
function mapTexts(value: unknown, change: (text: string, key: string) => string, key = ''): unknown {
  if (typeof value === 'string') return change(value, key)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change, key))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      mayHoldAddress(name) ? change(name, key) : name,
      mapTexts(field, change, name),
    ]),
  )
}

/** `words` gets each local part, in lower case, with the mark that replaces it. */
function hideAddresses(text: string, hash: HashAddress, words: Map<string, string>): string {
  if (!mayHoldAddress(text)) return text
  let shown = ''
  let end = 0
  for (let at = nextSign(text, 0); at !== null; at = nextSign(text, at.after)) {
    const begin = findLocalPart(text, at.from, end)
    if (begin === at.from) continue
    const domainEnd = findDomainEnd(text, at.after)
    const local = unquote(text.slice(begin, at.from)).toLowerCase()
    const mark = hash(`${local}@${text.slice(at.after, domainEnd).toLowerCase()}`)
    if (words.size < MAX_WORDS) words.set(local, mark)
    shown += `${text.slice(end, begin)}${mark}`
    end = at.from
  }
  return shown + text.slice(end)
}

interface Sign {
  readonly from: number
  readonly after: number
}

/** The next `@`, or `%40` as it is written in URLs. */
function nextSign(text: string, from: number): Sign | null {
  const plain = text.indexOf('@', from)
  // Looked for in the part before, so that no part of the text is searched again and again.
  const encoded = text.slice(from, plain === -1 ? undefined : plain).indexOf('%40')
  if (encoded !== -1) return { from: from + encoded, after: from + encoded + 3 }
  return plain === -1 ? null : { from: plain, after: plain + 1 }
}

const delimiters = new Set('\t\n\r <>()[],;:"\\@')

/** Where the local part before `sign` begins. It is `sign` itself if there is none. */
function findLocalPart(text: string, sign: number, from: number): number {
  const least = Math.max(from, sign - MAX_LOCAL_PART)
  if (text[sign - 1] === '"') {
    const quote = text.slice(least, sign - 1).lastIndexOf('"')
    return quote === -1 ? sign : least + quote
  }
  let begin = sign
  while (begin > least && !delimiters.has(text[begin - 1] ?? '')) begin -= 1
  return begin
}

function findDomainEnd(text: string, from: number): number {
  let end = from
  while (end < text.length && isDomainCharacter(text.charCodeAt(end))) end += 1
  // The full stop of a sentence.
  while (end > from && text[end - 1] === '.') end -= 1
  return end
}

function isDomainCharacter(code: number): boolean {
  const isDigit = code >= 48 && code <= 57
  const isLetter = (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code > 127
  // - . [ : ] of address literals
  return isDigit || isLetter || code === 45 || code === 46 || code === 91 || code === 93
}

function unquote(local: string): string {
  return local.startsWith('"') ? local.slice(1, -1) : local
}

/** Hides them in sentences only: a single word is a name of ours, such as a reason. */
function hideWords(text: string, words: ReadonlyMap<string, string>): string {
  if (!text.includes(' ')) return text
  let shown = text
  for (const [word, mark] of words) shown = replaceWord(shown, word, mark)
  return shown
}

function replaceWord(text: string, word: string, mark: string): string {
  const lower = text.toLowerCase()
  // Characters whose lower case is longer would shift all places.
  if (word === '' || lower.length !== text.length) return text.split(word).join(mark)
  let shown = ''
  let end = 0
  for (let at = lower.indexOf(word); at !== -1; at = lower.indexOf(word, at + word.length)) {
    if (isPartOfWord(lower[at - 1]) || isPartOfWord(lower[at + word.length])) continue
    shown += text.slice(end, at) + mark
    end = at + word.length
  }
  return shown + text.slice(end)
}

function isPartOfWord(character: string | undefined): boolean {
  return character !== undefined && (/[\w+-]/.test(character) || character > '\u007f')
}
