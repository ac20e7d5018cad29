/**
 * Keys of DKIM and ARC, parsed once for each text of a record. mailauth would parse a key twice for each message, from
 * the record and from the PEM text that it makes of it, which takes longer than the verification.
 *
 * Relies on mailauth's `getPublicKey`, whose result depends on the record and its options alone, and hands the key
 * itself to node:crypto where it would hand the PEM text. The record is asked for by each message. Records that hold no
 * usable key, and long ones, are parsed once for each message.
 */
import { createPublicKey, type KeyObject } from 'node:crypto'
import type { DNSResolver } from 'mailauth'
import { getPublicKey, type KeyCache, type KeyLookup, toALabel } from 'mailauth/lib/tools.js'
import { createLruCache } from '../../../base/platform/lru-cache.js'

/** Makes the cache that mailauth wants for one message. */
export type ParsedKeys = (resolver: DNSResolver) => KeyCache

const MAX_KEYS = 1000
/** Characters; RSA-4096 takes 750. A longer record is not remembered. */
const MAX_RECORD = 4096

type ParsedKey = KeyLookup<KeyObject>

export function createParsedKeys(): ParsedKeys {
  const keys = createLruCache<ParsedKey>({ max: MAX_KEYS })
  return (resolver) => {
    const lookups = new Map<string, ReturnType<KeyCache['get']>>()
    const parse: KeyCache['get'] = async (type, name, minBits, options) => {
      const records = await resolver(toALabel(name), 'TXT')
      const record = String(records[0])
      const key = JSON.stringify([minBits, options.strict, options.hashAlgo, record])
      const known = keys.get(key)
      if (known !== undefined) return known
      const found = await getPublicKey(type, name, minBits, async () => records, options)
      const parsed = { ...found, publicKey: createPublicKey(found.publicKey) }
      if (record.length <= MAX_RECORD) keys.set(key, parsed)
      return parsed
    }
    return {
      resolver,
      get: (type, name, minBits, options) => {
        const key = JSON.stringify([name, minBits, options.strict, options.hashAlgo])
        const lookup = lookups.get(key) ?? parse(type, name, minBits, options)
        lookups.set(key, lookup)
        lookup.catch(() => {
          // Some look-ups are only begun.
        })
        return lookup
      },
    }
  }
}
