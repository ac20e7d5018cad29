/**
 * Verifies DKIM signatures whose domain or selector has an underscore. The grammar of RFC 6376 section 3.1 has none,
 * but DNS does, signers write them, and other verifiers look such keys up: mail would be lost under a policy of reject.
 *
 * mailauth checks the grammar first and looks the key up later, so it checks names with a letter in place of each
 * underscore, and then gets the written ones back.
 */
import type { PreparedSignature } from 'mailauth/lib/dkim/dkim-verifier.js'

export function prepareWithUnderscores(signature: PreparedSignature, prepare: () => void): void {
  const { d, s, i } = signature.parsed ?? {}
  const names = [d, s, i].map((tag) => textOf(tag?.value))
  if (!names.some((name) => name.includes('_'))) {
    prepare()
    return
  }
  const [domain = '', selector = '', identity = ''] = names
  if (d !== undefined) d.value = withLetters(domain)
  if (s !== undefined) s.value = withLetters(selector)
  const at = identity.lastIndexOf('@') + 1
  if (i !== undefined) i.value = `${identity.slice(0, at)}${withLetters(identity.slice(at))}`
  prepare()
  signature.signingDomain = domain
  signature.selector = selector
  if (i === undefined) signature.identity = `@${domain}`
  else if (signature.identityDomain !== undefined) {
    const local = signature.identity?.slice(0, signature.identity.lastIndexOf('@') + 1) ?? '@'
    signature.identity = `${local}${identity.slice(at)}`
    signature.identityDomain = identity.slice(at)
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function withLetters(name: string): string {
  return name.replaceAll('_', 'u')
}
