/**
 * Checks whether a source address is in a DNS block list (RFC 5782).
 *
 * Each list is asked about its test entries too: 127.0.0.2 must be listed, 127.0.0.1 must not. A list that lists everything
 * is dead. Answers in 127.255.255.0/24 are no listings: lists say so that a resolver asks too often, or is a public one.
 */
import type { LookupResult } from '../../../base/platform/dns/resolver.js'
import { reverseAddress } from '../../../base/platform/ip-address.js'
import { describeMissing, recordsOf } from '../answers.js'
import type { Check, CheckDeps } from '../check.js'
import { failure, good, type Judgement, undecided, warning } from '../finding.js'
import { listSourceAddresses } from '../sources.js'

/** Source addresses that are looked up. */
const MAX_ADDRESSES = 32

export const blockListChecks: readonly Check[] = [
  { name: 'blocklist', summary: 'no source address is in a DNS block list', run: checkBlockLists },
]

async function checkBlockLists(deps: CheckDeps): Promise<readonly Judgement[]> {
  const { config } = deps
  const zones = new Set<string>([...config.inbound.dnsbl.map(({ zone }) => zone), ...config.doctor.block_lists])
  const addresses = listSourceAddresses(deps).slice(0, MAX_ADDRESSES)
  if (addresses.length === 0 || zones.size === 0) return []
  const found = await Promise.all([...zones].map((zone) => checkList(deps, zone, addresses)))
  return found.flat()
}

async function checkList(
  { resolver }: Pick<CheckDeps, 'resolver'>,
  zone: string,
  addresses: readonly string[],
): Promise<readonly Judgement[]> {
  const ask = (address: string): Promise<LookupResult<string>> =>
    resolver.resolveAddresses(`${reverseAddress(address) ?? ''}.${zone}`)
  const [listed, unlisted, ...answers] = await Promise.all([
    resolver.resolveAddresses(`2.0.0.127.${zone}`),
    resolver.resolveAddresses(`1.0.0.127.${zone}`),
    ...addresses.map(ask),
  ])
  const unusable = judgeList(zone, listed, unlisted)
  if (unusable !== null) return [unusable]
  return addresses.map((address, at) => judgeListing(zone, address, answers[at] ?? { kind: 'no-domain' }))
}

/** Null if its answers can be used. */
export function judgeList(
  zone: string,
  listed: LookupResult<string>,
  unlisted: LookupResult<string>,
): Judgement | null {
  if (recordsOf(unlisted).some(isListing)) {
    return warning(
      zone,
      'the block list contains every address: either it is closed, or the resolver makes up answers',
      [`take ${zone} out of doctor.block_lists or [[inbound.dnsbl]]`],
    )
  }
  if ([...recordsOf(listed), ...recordsOf(unlisted)].some(isRefusal)) return refusedBy(zone, zone)
  if (listed.kind === 'failure') return undecided(zone, describeMissing(listed), [`dig 2.0.0.127.${zone}`])
  if (recordsOf(listed).some(isListing)) return null
  return undecided(zone, 'the block list lacks the test entry 127.0.0.2, which every block list has', [
    `dig 2.0.0.127.${zone}`,
  ])
}

export function judgeListing(zone: string, address: string, answer: LookupResult<string>): Judgement {
  const subject = `${address} at ${zone}`
  const name = `${reverseAddress(address) ?? ''}.${zone}`
  if (answer.kind === 'failure') return undecided(subject, describeMissing(answer), [`dig ${name}`])
  const codes = recordsOf(answer)
  if (codes.some(isRefusal)) return refusedBy(zone, subject)
  const listings = codes.filter(isListing)
  if (listings.length === 0) return good(subject, 'the block list does not have the address')
  return failure(
    subject,
    `the address is listed (${listings.join(', ')}): servers that use this list refuse the mail`,
    [
      `dig +short TXT ${name}   # the reason, often with a URL`,
      '# end the cause (posthorn queue list, complaints, open forms), then ask the list to remove the address',
    ],
  )
}

function refusedBy(zone: string, subject: string): Judgement {
  return undecided(
    subject,
    `${zone} does not answer this resolver: either the resolver is a public one, or it asks too often`,
    ['apt-get install unbound', '[dns]', 'servers = ["127.0.0.1"]'],
  )
}

/** Some lists answer within 127.255.255.0/24 that the question was refused. */
function isRefusal(answer: string): boolean {
  return answer.startsWith('127.255.255.')
}

function isListing(answer: string): boolean {
  return answer.startsWith('127.') && !isRefusal(answer)
}
