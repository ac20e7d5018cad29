/**
 * Verifies the DKIM signature of an arrived message as a receiver would.
 *
 * The public keys come from the database instead of DNS; the rest is mailauth, which takes no part in signing. A
 * result other than `pass` and `none` is a fail: mailauth calls a changed body `neutral`.
 */
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { tryParseDomainName } from '../../base/mail/address.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { SERVICE_WORKSPACE } from '../../base/storage/tables/tables.js'
import { dkimKeysOf } from '../../workspaces/domains/dkim/signing-keys.js'
import { verifiedByName } from '../../workspaces/domains/rows/sending-domains.js'

/** The TXT record of a name, or undefined. */
type FindPublishedKey = (name: string) => Promise<string | undefined>

export interface SampleDkimVerdict {
  readonly result: 'pass' | 'fail' | 'none'
  /** `d=` and `s=` of the signature, or null if there is none. */
  readonly signature: { readonly domain: string; readonly selector: string } | null
}

/** If there are several signatures, one that passes decides. */
export async function verifyDkimSignature(
  raw: Buffer,
  published: FindPublishedKey,
  now: number,
): Promise<SampleDkimVerdict> {
  const resolver = async (name: string): Promise<string[][]> => {
    const record = await published(name)
    if (record === undefined) throw Object.assign(new Error(`no TXT record at ${name}`), { code: 'ENOTFOUND' })
    return [[record]]
  }
  const { results } = await dkimVerify(raw, { resolver, strict: true, curTime: now })
  const best = results.find(({ status }) => status.result === 'pass') ?? results[0]
  if (best === undefined || best.status.result === 'none') return { result: 'none', signature: null }
  const { signingDomain = '', selector = '' } = best
  return {
    result: best.status.result === 'pass' ? 'pass' : 'fail',
    signature: { domain: signingDomain, selector },
  }
}

/** The keys of verified sending domains and of the service itself. */
export function publishedKeyFinder(read: Read): FindPublishedKey {
  return async (name) => {
    const [selector = '', suffix = ''] = name.toLowerCase().split('._domainkey.')
    const domain = tryParseDomainName(suffix)
    if (domain === null) return undefined
    const workspaceId = (await verifiedByName(read, { domain }))[0]?.workspace_id ?? SERVICE_WORKSPACE
    return (await dkimKeysOf(read, { workspaceId, domain })).find((key) => key.selector === selector)?.public_record
  }
}
