/** Checks of the addresses that mail leaves from: configured, with a confirmed reverse name, and the EHLO name. */
import { listConfiguredSources } from '../../../base/config/configured-sources.js'
import type { LookupResult } from '../../../base/platform/dns/resolver.js'
import { parseIpAddress, toReverseName } from '../../../base/platform/ip-address.js'
import { addressRecords, describeMissing, listTexts, recordsOf } from '../answers.js'
import type { Check, CheckDeps, DoctorResolver } from '../check.js'
import { failure, good, type Judgement, type Remedy, undecided, warning } from '../finding.js'
import { findHelloName, isPublicAddress, isSameAddress, listSourceAddresses } from '../sources.js'

/** Names of one address that are looked up. */
const MAX_NAMES = 10

export const addressChecks: readonly Check[] = [
  {
    name: 'source',
    summary: 'this machine has each address from which mail is sent, and the public addresses are known',
    run: async (deps) => judgeSources(deps),
  },
  {
    name: 'ptr',
    summary: 'each source address has a reverse name that leads back to it',
    run: (deps) => Promise.all(listSourceAddresses(deps).map((address) => checkReverseName(deps, address))),
  },
  {
    name: 'helo',
    summary: 'the EHLO name leads to each source address',
    run: async (deps) => {
      const found = await Promise.all(helloNamesOf(deps).map((name) => checkHelloName(deps, name)))
      return found.flat()
    },
  },
]

interface HelloName {
  readonly name: string
  /** The source addresses that say it. */
  readonly addresses: readonly string[]
}

/** If no address is known, it is the name of the service alone. */
function helloNamesOf({ config, ownAddresses }: Pick<CheckDeps, 'config' | 'ownAddresses'>): readonly HelloName[] {
  const sources = listSourceAddresses({ config, ownAddresses })
  const names = new Set(sources.map((address) => findHelloName(config, address)))
  if (names.size === 0) return [{ name: config.service.hostname, addresses: [] }]
  return [...names].map((name) => {
    return { name, addresses: sources.filter((address) => findHelloName(config, address) === name) }
  })
}

async function checkHelloName({ resolver }: CheckDeps, { name, addresses }: HelloName): Promise<readonly Judgement[]> {
  return judgeHelo(name, await resolver.resolveAddresses(name), addresses)
}

export function judgeSources({ config, ownAddresses }: Pick<CheckDeps, 'config' | 'ownAddresses'>): Judgement[] {
  const sources = listConfiguredSources(config.outbound).map(({ address }) => address)
  const foreign = sources.filter((address) => !ownAddresses.some((own) => isSameAddress(own, address)))
  const missing = foreign.map((address) =>
    failure(address, 'no interface of this machine has this address: mail cannot leave from it', [
      `ip address add ${address} dev INTERFACE`,
      '# or take it out of outbound.source_addresses or [[outbound.sources]]',
    ]),
  )
  const known = listSourceAddresses({ config, ownAddresses })
  if (known.length > 0) return [...missing, good('source addresses', listTexts(known))]
  return [
    ...missing,
    warning('source addresses', 'no public address is known: reverse names and block lists cannot be checked', [
      '[service]',
      'public_addresses = ["ADDRESS"]   # the address from which other servers see connections of this machine',
    ]),
  ]
}

async function checkReverseName({ config, resolver }: CheckDeps, address: string): Promise<Judgement> {
  const parsed = parseIpAddress(address)
  const reversed = parsed === null ? '' : toReverseName(parsed)
  const names = await resolver.resolveRecords(reversed, 'PTR')
  const confirmed = await Promise.all(
    recordsOf(names)
      .slice(0, MAX_NAMES)
      .map(async (name) => ({ name, addresses: await resolver.resolveAddresses(name) })),
  )
  return judgeReverseName({ address, reversed, hostname: findHelloName(config, address), names, confirmed })
}

interface ReverseAnswers {
  readonly address: string
  readonly reversed: string
  readonly hostname: string
  readonly names: LookupResult<string>
  readonly confirmed: readonly {
    readonly name: string
    readonly addresses: Awaited<ReturnType<DoctorResolver['resolveAddresses']>>
  }[]
}

export function judgeReverseName({ address, reversed, hostname, names, confirmed }: ReverseAnswers): Judgement {
  const expected = `${reversed}. PTR ${hostname}.   ; at the provider of the address`
  if (names.kind === 'failure') return undecided(address, describeMissing(names), [`dig -x ${address}`])
  if (names.kind !== 'records') {
    return failure(address, 'the address has no reverse name (PTR): large providers refuse mail from it', [expected])
  }
  const leadsBack = confirmed.filter(({ addresses }) =>
    recordsOf(addresses).some((found) => isSameAddress(found, address)),
  )
  const [first] = leadsBack
  if (first === undefined) return judgeUnconfirmed(address, confirmed, expected)
  if (leadsBack.some(({ name }) => name.toLowerCase() === hostname)) {
    return good(address, `${address} -> ${hostname} -> ${address}`)
  }
  return warning(
    address,
    `the reverse name is ${first.name} and leads back, but the EHLO name is ${hostname}: some servers count that against mail`,
    [expected],
  )
}

function judgeUnconfirmed(address: string, confirmed: ReverseAnswers['confirmed'], expected: string): Judgement {
  const names = listTexts(confirmed.map(({ name }) => name))
  const silent = confirmed.find(({ addresses }) => addresses.kind === 'failure')
  if (silent !== undefined) {
    return undecided(address, `${silent.name}: ${describeMissing(silent.addresses)}`, [`dig ${silent.name}`])
  }
  const type = address.includes(':') ? 'AAAA' : 'A'
  return failure(
    address,
    `the reverse name ${names} does not lead back to the address: large providers refuse mail from it`,
    [expected, ...confirmed.slice(0, 1).map(({ name }) => `or ${name}. ${type} ${address}`)],
  )
}

export function judgeHelo(
  hostname: string,
  lookup: LookupResult<string>,
  sources: readonly string[],
): readonly Judgement[] {
  const expected = (addresses: readonly string[]): Remedy => addressRecords(hostname, addresses)
  if (!hostname.includes('.')) {
    return [
      failure(hostname, 'the EHLO name is not a full host name: other servers refuse mail', [
        '[service]',
        'hostname = "mail.example.net"',
      ]),
    ]
  }
  if (lookup.kind === 'failure') return [undecided(hostname, describeMissing(lookup), [`dig ${hostname}`])]
  if (lookup.kind !== 'records') {
    return [failure(hostname, `the EHLO name has no address: ${describeMissing(lookup)}`, expected(sources))]
  }
  const absent = sources.filter((address) => !lookup.records.some((found) => isSameAddress(found, address)))
  if (absent.length > 0) {
    return [warning(hostname, `the EHLO name does not lead to ${listTexts(absent)}`, expected(absent))]
  }
  const found = listTexts(lookup.records)
  return lookup.records.some(isPublicAddress)
    ? [good(hostname, `the EHLO name leads to ${found}`)]
    : [failure(hostname, `the EHLO name leads to ${found}, which no other server can reach`, expected(sources))]
}
