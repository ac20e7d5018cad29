/**
 * Messages signed with any tags: also what our signer never writes and another one may. rsa-sha256 or ed25519-sha256,
 * a relaxed header, one line.
 */
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { findFields, scanHeader } from '../../../src/base/mail/header-fields.js'
import { canonicalizeField, hashRelaxedBody } from '../../../src/workspaces/domains/dkim/canonical.js'

export interface TestKey {
  readonly privateKey: KeyObject
  readonly algorithm: 'rsa-sha256' | 'ed25519-sha256'
  /** The `k=` and `p=` tags. */
  readonly record: string
}

export function rsaKey(bits = 1024): TestKey {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: bits })
  const der = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
  return { privateKey, algorithm: 'rsa-sha256', record: `k=rsa; p=${der}` }
}

export function ed25519Key(): TestKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const raw = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64')
  return { privateKey, algorithm: 'ed25519-sha256', record: `k=ed25519; p=${raw}` }
}

export interface SignatureTags {
  readonly domain: string
  readonly selector?: string
  /** Further complete tags, as `i=@x.test; q=http`. */
  readonly more?: string
  readonly names?: string
  readonly bodyHash?: string
  readonly algorithm?: string
  /** For a body that both canonicalizations leave unchanged. */
  readonly canonicalization?: 'relaxed/relaxed' | 'relaxed/simple'
}

export function signMessage(message: string, key: TestKey, tags: SignatureTags): string {
  const { domain, selector = 's', more, names = 'from:subject', canonicalization = 'relaxed/relaxed' } = tags
  const raw = Buffer.from(message, 'latin1')
  const header = scanHeader(raw)
  const list = [
    `v=1; a=${tags.algorithm ?? key.algorithm}; c=${canonicalization}; d=${domain}; s=${selector}`,
    ...(more === undefined ? [] : [more]),
    `h=${names}; bh=${tags.bodyHash ?? hashRelaxedBody(raw, header.bodyStart)}; b=`,
  ].join('; ')
  const fields = names.split(':').flatMap((name) => findFields(header, name).slice(-1))
  const canonical = `${fields.map((field) => canonicalizeField(raw, field)).join('')}dkim-signature:${list}`
  const digested = Buffer.from(canonical, 'latin1')
  const signature =
    key.algorithm === 'rsa-sha256'
      ? sign('sha256', digested, key.privateKey)
      : sign(null, createHash('sha256').update(digested).digest(), key.privateKey)
  return `DKIM-Signature: ${list}${signature.toString('base64')}\r\n${message}`
}
