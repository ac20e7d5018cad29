/**
 * Parses MTA-STS records and policies (RFC 8461 sections 3.1, 3.2, 4.1). Pure, and linear in the length of the text.
 *
 * Both come from other domains, so what is kept of them is bounded. A policy with more host patterns than
 * `MAX_PATTERNS` is invalid.
 */
import { tryParseDomainName } from '../../../base/mail/address.js'

export interface StsPolicy {
  readonly mode: 'enforce' | 'testing' | 'none'
  /** Host names, or `*.` and a domain, in lower case. */
  readonly patterns: readonly string[]
  /** Milliseconds. */
  readonly maxAge: number
}

const MAX_PATTERNS = 50
/** A policy that has more lines is invalid. */
const MAX_LINES = 500
/** Seconds: one year (RFC 8461 section 3.2). */
const MAX_AGE = 31_557_600

/** Returns the id of the only record for MTA-STS, or null if there is none, or more than one. */
export function readStsId(records: readonly string[]): string | null {
  const [record, ...others] = records.filter((text) => /^v=STSv1[ \t]*;/.test(text))
  if (record === undefined || others.length > 0) return null
  const ids = record.split(';').flatMap((field) => {
    const [name = '', value = ''] = splitAtFirst(field, '=')
    return name === 'id' ? [value] : []
  })
  const [id] = ids
  return id !== undefined && /^[a-zA-Z0-9]{1,32}$/.test(id) ? id : null
}

/** Returns the policy, or a word that says what is wrong with it. */
export function parseStsPolicy(text: string): StsPolicy | { readonly fault: string } {
  const lines = text.split('\n', MAX_LINES + 1)
  if (lines.length > MAX_LINES) return { fault: 'length' }
  const fields = lines.map((line) => splitAtFirst(line, ':'))
  const fieldOf = (name: string): string => fields.find(([key]) => key === name)?.[1] ?? ''
  if (fieldOf('version') !== 'STSv1') return { fault: 'version' }
  const mode = asMode(fieldOf('mode'))
  if (mode === null) return { fault: 'mode' }
  const age = fieldOf('max_age')
  if (!/^\d{1,10}$/.test(age)) return { fault: 'max_age' }
  const listed = fields.filter(([key]) => key === 'mx')
  if (listed.length > MAX_PATTERNS) return { fault: 'mx' }
  const patterns = listed.map(([, value]) => parsePattern(value)).filter((pattern) => pattern !== null)
  if (patterns.length < listed.length || (patterns.length === 0 && mode !== 'none')) return { fault: 'mx' }
  return { mode, patterns, maxAge: Math.min(Number(age), MAX_AGE) * 1_000 }
}

/** `*` stands for exactly one label. */
export function matchesStsPolicy({ patterns }: Pick<StsPolicy, 'patterns'>, mx: string): boolean {
  const parent = mx.slice(mx.indexOf('.') + 1)
  return patterns.some((pattern) =>
    pattern.startsWith('*.') ? mx.includes('.') && pattern.slice(2) === parent : pattern === mx,
  )
}

/** Returns the lines of the policy as they would be published, for reports. */
export function formatStsPolicy({ mode, patterns, maxAge }: StsPolicy): readonly string[] {
  const hosts = patterns.map((pattern) => `mx: ${pattern}`)
  return ['version: STSv1', `mode: ${mode}`, ...hosts, `max_age: ${maxAge / 1_000}`]
}

function splitAtFirst(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark)
  return at === -1 ? [text.trim(), ''] : [text.slice(0, at).trim(), text.slice(at + 1).trim()]
}

function asMode(text: string): StsPolicy['mode'] | null {
  return text === 'enforce' || text === 'testing' || text === 'none' ? text : null
}

function parsePattern(text: string): string | null {
  const isWild = text.startsWith('*.')
  const domain = tryParseDomainName(isWild ? text.slice(2) : text)
  if (domain === null) return null
  return isWild ? `*.${domain}` : domain
}
