/**
 * Checks whether the client's address has a name that maps back to the address (RFC 8601 section 3).
 *
 * `pass`: one of its names does; `fail`: it has names and none does; `permerror`: it has no name; `temperror`: DNS
 * did not answer. A limited number of names is followed.
 */
import type { DNSResolver } from 'mailauth'
import type { IprevVerdict } from '../../../base/mail/authentication-results.js'
import { type IpAddress, parseIpAddress, toReverseName } from '../../../base/platform/ip-address.js'
import { NoDnsAnswer } from './dns-queries.js'

const MAX_NAMES = 10

export async function checkIprev(clientAddress: string, resolver: DNSResolver): Promise<IprevVerdict> {
  const address = parseIpAddress(clientAddress)
  if (address === null) return { result: 'permerror', name: null }
  const names = await queryDns(resolver, toReverseName(address), 'PTR')
  if (names === 'fault') return { result: 'temperror', name: null }
  if (names.length === 0) return { result: 'permerror', name: null }
  const type = address.kind() === 'ipv6' ? 'AAAA' : 'A'
  const followed = names.slice(0, MAX_NAMES)
  const forward = await Promise.all(followed.map((name) => queryDns(resolver, name, type)))
  const at = forward.findIndex((found) => found !== 'fault' && found.some((text) => isSameAddress(text, address)))
  const name = followed[at]
  if (name !== undefined) return { result: 'pass', name }
  return { result: forward.includes('fault') ? 'temperror' : 'fail', name: null }
}

async function queryDns(resolver: DNSResolver, name: string, type: string): Promise<readonly string[] | 'fault'> {
  try {
    return (await resolver(name, type)).flat()
  } catch (error) {
    if (error instanceof NoDnsAnswer) return error.isEmpty ? [] : 'fault'
    throw error
  }
}

function isSameAddress(text: string, address: IpAddress): boolean {
  return parseIpAddress(text)?.toNormalizedString() === address.toNormalizedString()
}
