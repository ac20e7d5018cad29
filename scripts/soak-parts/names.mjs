// The names of the test: domains, their hosts and addresses, and what a recipient's local part says.

/** Domains of recipients are d1.sink.test to d6.sink.test; faults of MX hosts meet the first four. */
export const DOMAINS = 6
export const FAULTY_DOMAINS = 4
export const SENDER = 'app@soak.test'

export function domainOf(number) {
  return `d${(number % DOMAINS) + 1}.sink.test`
}

/** `m<number>-<place>`: one recipient of one message. `gone…`: the sink refuses it for good. */
export function recipientOf(number, place) {
  const name = number % 25 === 0 ? 'gone' : 'm'
  return `${name}${number}-${place}@${domainOf(number + place)}`
}

/** By the name of a DNS question: the addresses of a host, `mx<1|2>.d<n>.sink.test`. */
export function addressOfHost(host) {
  const [, preference, domain] = /^mx([12])\.d(\d+)\.sink\.test$/i.exec(host) ?? []
  return domain === undefined ? null : `127.0.${10 + Number(domain)}.${preference}`
}

export function listHosts() {
  return Array.from({ length: DOMAINS }, (_, at) =>
    [1, 2].map((n) => ({ domain: at + 1, host: `mx${n}.d${at + 1}.sink.test` })),
  ).flat()
}
