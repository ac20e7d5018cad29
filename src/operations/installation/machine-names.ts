/**
 * Asks the machine and DNS for its names: the host's own name, its public addresses with their reverse names, and who
 * receives mail for its domain.
 *
 * Nothing here fails: a question without an answer leaves its part empty. The caller limits the time.
 */
import type { NetworkInterfaceInfo } from 'node:os'
import { parseHostName } from '../../base/config/network-values.js'
import { ownerDomainOf } from '../../base/mail/public-suffix.js'
import { createAddressGuard } from '../../base/platform/address-guard.js'
import type { LookupResult, RecordResolver, Resolver } from '../../base/platform/dns/resolver.js'
import { parseIpAddress, toReverseName } from '../../base/platform/ip-address.js'

interface ReverseName {
  readonly name: string
  /** The name leads back to the address. */
  readonly confirmed: boolean
}

export interface PublicAddress {
  readonly address: string
  readonly reverse: readonly ReverseName[]
}

export interface MachineNames {
  /** The host's name with its domain, or null if it has none that the Internet could know. */
  readonly hostname: string | null
  /** The public addresses that DNS has for `hostname`. */
  readonly hostnameAddresses: readonly string[]
  /** The addresses of the interfaces; behind a NAT those of `hostname`. */
  readonly addresses: readonly PublicAddress[]
  /** No interface has a public address. */
  readonly behindNat: boolean
  /** An interface has an IPv6 address that other machines reach. */
  readonly hasIpv6: boolean
  /** The registered domain of `hostname`, or else of the first confirmed reverse name. */
  readonly domain: string | null
  /** Where mail for `domain` arrives now, best first. */
  readonly exchanges: readonly string[]
  /** A question that DNS did not answer. */
  readonly unanswered: boolean
}

interface NameSources {
  /** The name that `hostname -f` prints. */
  readonly hostname: string
  readonly interfaces: readonly NetworkInterfaceInfo[]
  readonly resolver: Resolver & RecordResolver
}

/** Further addresses are not looked up, because each costs a question. */
const MAX_ADDRESSES = 8
const MAX_NAMES = 4

const isPublic = createAddressGuard([])
/** Names that only a local network knows. */
const localDomains = new Set(['localhost', 'localdomain', 'local', 'internal', 'lan', 'home', 'arpa', 'intranet'])

export async function readMachineNames({ hostname, interfaces, resolver }: NameSources): Promise<MachineNames> {
  const questions = createQuestions(resolver)
  const name = toInternetName(hostname)
  const hostnameAddresses = name === null ? [] : (await questions.addresses(name)).filter(isPublic)
  const outward = interfaces.filter(({ internal, address }) => !internal && !isLinkLocal(address))
  const own = outward.map(({ address }) => address).filter(isPublic)
  const chosen = [...new Set(own.length > 0 ? own : hostnameAddresses)].slice(0, MAX_ADDRESSES)
  const addresses = await Promise.all(chosen.map((address) => readReverseNames(address, questions)))
  const confirmed = addresses.flatMap(({ reverse }) => reverse).find((one) => one.confirmed)
  const known = name ?? confirmed?.name ?? null
  const domain = known === null ? null : ownerDomainOf(known)
  return {
    hostname: name,
    hostnameAddresses,
    addresses,
    behindNat: own.length === 0,
    hasIpv6: outward.some(({ family }) => family === 'IPv6'),
    domain,
    exchanges: domain === null ? [] : await questions.exchanges(domain),
    unanswered: questions.failed(),
  }
}

/** Null if it is no name with a domain that the Internet could know. */
export function toInternetName(text: string): string | null {
  const name = parseHostName(text.trim().replace(/\.$/, ''))
  if (name === undefined || !name.includes('.')) return null
  return localDomains.has(name.slice(name.lastIndexOf('.') + 1)) ? null : name
}

function isLinkLocal(address: string): boolean {
  return parseIpAddress(address.split('%', 1)[0] ?? '')?.range() === 'linkLocal'
}

async function readReverseNames(address: string, questions: Questions): Promise<PublicAddress> {
  const names = (await questions.reverse(address)).slice(0, MAX_NAMES)
  const reverse = names.map(async (name) => {
    const forward = await questions.addresses(name)
    return { name, confirmed: forward.some((one) => isSame(one, address)) }
  })
  return { address, reverse: await Promise.all(reverse) }
}

function isSame(one: string, other: string): boolean {
  return parseIpAddress(one)?.toNormalizedString() === parseIpAddress(other)?.toNormalizedString()
}

interface Questions {
  readonly addresses: (name: string) => Promise<readonly string[]>
  readonly reverse: (address: string) => Promise<readonly string[]>
  readonly exchanges: (domain: string) => Promise<readonly string[]>
  readonly failed: () => boolean
}

function createQuestions(resolver: Resolver & RecordResolver): Questions {
  let failed = false
  const ask = async <T>(question: Promise<LookupResult<T>>): Promise<readonly T[]> => {
    const result = await question
    if (result.kind === 'failure') failed = true
    return result.kind === 'records' ? result.records : []
  }
  return {
    addresses: (name) => ask(resolver.resolveAddresses(name)),
    reverse: async (address) => {
      const parsed = parseIpAddress(address)
      return parsed === null ? [] : ask(resolver.resolveRecords(toReverseName(parsed), 'PTR'))
    },
    exchanges: async (domain) => {
      const records = await ask(resolver.resolveMx(domain))
      const best = records.toSorted((one, other) => one.preference - other.preference)
      return best.map(({ exchange }) => exchange).filter((exchange) => exchange !== '')
    },
    failed: () => failed,
  }
}
