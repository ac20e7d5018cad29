/** The record by which a domain asks for TLS reports. */

import { tryParseAddress } from '../../../../src/base/mail/address.js'
import {
  parseReportingRecord,
  readReportingRequest,
} from '../../../../src/outbound/delivery/tls-reports/reporting-record.js'
import { check, checkEqual, type FuzzTarget } from '../target.js'

function readRecord(input: Buffer): void {
  const text = input.toString()
  const targets = parseReportingRecord(text)
  const request = readReportingRequest({ kind: 'records', records: [text] })
  checkEqual(request.kind === 'wanted', targets !== null, 'a record that can be used is followed')
  if (targets === null) return
  const { mailboxes, urls } = targets
  check(mailboxes.length + urls.length <= 5, 'at most five places')
  for (const address of mailboxes) checkEqual(tryParseAddress(address), address, 'a mailbox is an address')
  for (const url of urls) {
    const { protocol, username, password, href } = new URL(url)
    check(protocol === 'https:' && username + password === '' && href === url, 'a URL has no login')
  }
}

export const tlsReportTargets: readonly FuzzTarget[] = [
  {
    name: 'tls-report-records',
    checks: 'at most five places; mailboxes parse as themselves; URLs have no login',
    seeds: [
      'v=TLSRPTv1; rua=mailto:tls@b.test',
      'v=TLSRPTv1;rua=https://b.test/v1,mailto:a%40b@b.test?subject=x;',
      'v=TLSRPTv1; ext=1; rua = mailto:"odd local"@b.test',
    ],
    words: ['v=TLSRPTv1;', 'rua=', 'mailto:', 'https://', '%2C', '%', ',', '!10m', '@'],
    maxSize: 4_096,
    run: readRecord,
  },
]
