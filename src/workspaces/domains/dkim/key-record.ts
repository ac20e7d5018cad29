/**
 * Decides whether TXT records in DNS hold a certain DKIM key (RFC 6376 section 3.6.1). Pure.
 *
 * A customer may set the record by hand. So blanks and folds within the key, the order of tags and unknown tags do
 * not matter, but a verifier must accept the record. If a name has several key records, a verifier may use any of
 * them (section 3.6.2.2), so all must hold the key.
 */

/** Bounds for the work on untrusted records. Key records are not longer, and a name does not have more of them. */
const MAX_RECORD_LENGTH = 4096
const MAX_RECORDS = 20

/** The value of a tag may fold; its name may not. */
function parseKeyTags(text: string): ReadonlyMap<string, string> | null {
  if (text.length > MAX_RECORD_LENGTH) return null
  const tags = new Map<string, string>()
  const parts = text.split(';')
  if (parts.at(-1)?.trim() === '') parts.pop()
  for (const part of parts) {
    const { name, value } = /^\s*(?<name>[a-z]\w*)\s*=(?<value>.*)$/is.exec(part)?.groups ?? {}
    if (name === undefined || value === undefined || tags.has(name)) return null
    tags.set(name, value.trim())
  }
  return tags
}

/** The public key of a record, or null if a verifier would not use the record for mail. */
export function parsePublicKey(text: string): Buffer | null {
  const tags = parseKeyTags(text)
  if (tags === null) return null
  const version = tags.get('v')
  if (version !== undefined && (version !== 'DKIM1' || tags.keys().next().value !== 'v')) return null
  if ((tags.get('k') ?? 'rsa') !== 'rsa') return null
  if (!tagAllows(tags, 'h', ['sha256']) || !tagAllows(tags, 's', ['*', 'email'])) return null
  const encoded = (tags.get('p') ?? '').replace(/\s+/g, '')
  if (encoded === '' || !/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return null
  return Buffer.from(encoded, 'base64')
}

/** Tells whether a colon-separated tag is absent, or names one of these. */
function tagAllows(tags: ReadonlyMap<string, string>, name: string, words: readonly string[]): boolean {
  const value = tags.get(name)
  return value === undefined || value.split(':').some((word) => words.includes(word.trim().toLowerCase()))
}

/**
 * Tells whether at least one of `texts` is a key record, and whether all key records hold the key of `publicRecord`.
 */
export function holdsKey(texts: readonly string[], publicRecord: string): boolean {
  const expected = parsePublicKey(publicRecord)
  const records = texts.filter((text) => /(?:^|;)\s*p\s*=/i.test(text.slice(0, MAX_RECORD_LENGTH)))
  if (expected === null || records.length === 0 || records.length > MAX_RECORDS) return false
  return records.every((text) => parsePublicKey(text)?.equals(expected) === true)
}
