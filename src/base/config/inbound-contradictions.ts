/** Settings of inbound mail that contradict each other. */
import type { Problem } from './problems.js'
import type { Settings } from './schema.js'

export function findInboundContradictions({ dnsbl, dnswl, greylisting }: Settings['inbound']): readonly Problem[] {
  return [
    ...findRepeatedLists('inbound.dnsbl', dnsbl),
    ...findRepeatedLists('inbound.dnswl', dnswl),
    ...findShortTimes(greylisting),
  ]
}

/** A list that is queried twice would count twice. */
function findRepeatedLists(name: string, lists: readonly { readonly zone: string }[]): readonly Problem[] {
  return lists.flatMap(({ zone }, at) => {
    const first = lists.findIndex((other) => other.zone === zone)
    const message = `found ${JSON.stringify(zone)}, as in ${name}[${first}]; allowed: each zone once`
    return first === at ? [] : [{ key: `${name}[${at}].zone`, message }]
  })
}

/** If a client may no longer come back at the time when it may come again, none would ever pass. */
function findShortTimes({ delay, retry_window, remember }: Settings['inbound']['greylisting']): readonly Problem[] {
  const limit = 'allowed: longer than inbound.greylisting.delay'
  return Object.entries({ retry_window, remember }).flatMap(([key, time]) =>
    time > delay ? [] : [{ key: `inbound.greylisting.${key}`, message: `found ${time / 1_000} s; ${limit}` }],
  )
}
