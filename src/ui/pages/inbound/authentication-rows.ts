/** Turns the results of the sender's authentication into rows. The interface has them as free fields. */

export interface AuthenticationRow {
  readonly check: string
  /** A word of RFC 8601. */
  readonly result: string
  /** What was checked: a domain or a host name. */
  readonly subject: string
  readonly detail: string
}

type Fields = Readonly<Record<string, unknown>>

export function toAuthenticationRows({ spf, dkim, dmarc, arc, iprev }: Fields): readonly AuthenticationRow[] {
  const signatures = Array.isArray(dkim) ? dkim.map(readFields) : []
  return [
    ...(spf === undefined ? [] : [toSpfRow(readFields(spf))]),
    ...(dkim === undefined ? [] : signatures.map(toDkimRow)),
    ...(dkim !== undefined && signatures.length === 0 ? [unsigned] : []),
    ...(dmarc === undefined ? [] : [toDmarcRow(readFields(dmarc))]),
    ...(arc === undefined ? [] : [toRow('ARC', readFields(arc), '', 'Results of forwarders')]),
    ...(iprev === undefined ? [] : [toIprevRow(readFields(iprev))]),
  ]
}

const unsigned: AuthenticationRow = { check: 'DKIM', result: 'none', subject: '', detail: 'The message is not signed.' }

function toSpfRow(spf: Fields): AuthenticationRow {
  const identity = spf['identity'] === 'helo' ? 'Name in HELO' : 'Envelope sender'
  return toRow('SPF', spf, readText(spf['domain']), join([identity, readText(spf['explanation'])]))
}

function toDkimRow(dkim: Fields): AuthenticationRow {
  const selector = readText(dkim['selector'])
  return toRow('DKIM', dkim, readText(dkim['domain']), selector === '' ? '' : `Selector ${selector}`)
}

function toDmarcRow(dmarc: Fields): AuthenticationRow {
  const [policy, above] = [readText(dmarc['policy']), readText(dmarc['policyDomain'])]
  const domain = readText(dmarc['domain'])
  const said = policy === '' ? '' : `Policy ${policy}${above === '' || above === domain ? '' : ` of ${above}`}`
  return toRow('DMARC', dmarc, domain, said)
}

function toIprevRow(iprev: Fields): AuthenticationRow {
  return toRow('Reverse DNS', iprev, readText(iprev['name']), 'Name of the sending host')
}

function toRow(check: string, fields: Fields, subject: string, detail: string): AuthenticationRow {
  const result = readText(fields['result'])
  return { check, result, subject, detail: join([detail, readText(fields['reason'])]) }
}

function join(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(': ')
}

function readText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function readFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}
}
