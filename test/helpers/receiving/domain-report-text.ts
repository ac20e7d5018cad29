/** Reports about domains in the forms of large providers, archives, and the messages that bring them. */
import { crc32, deflateRawSync } from 'node:zlib'

interface AggregateFields {
  readonly domain?: string
  readonly id?: string
  readonly records?: readonly string[]
}

/** As Google writes it: no namespace, one line for each element. */
export function googleAggregate({ domain = 'a.test', id = '12985173428', records }: AggregateFields = {}): string {
  return `<?xml version="1.0" encoding="UTF-8" ?>
<feedback>
  <report_metadata>
    <org_name>google.com</org_name>
    <email>noreply-dmarc-support@google.com</email>
    <extra_contact_info>https://support.google.com/a/answer/2466580</extra_contact_info>
    <report_id>${id}</report_id>
    <date_range>
      <begin>1795305600</begin>
      <end>1795391999</end>
    </date_range>
  </report_metadata>
  <policy_published>
    <domain>${domain}</domain>
    <adkim>r</adkim>
    <aspf>r</aspf>
    <p>none</p>
    <sp>none</sp>
    <pct>100</pct>
    <np>none</np>
  </policy_published>
${(records ?? [aggregateRecord({ domain }), aggregateRecord({ domain, source: '198.51.100.7', count: 4, result: 'fail' })]).join('\n')}
</feedback>
`
}

export function aggregateRecord({
  domain = 'a.test',
  source = '192.0.2.1',
  count = 12,
  result = 'pass',
}: {
  readonly domain?: string
  readonly source?: string
  readonly count?: number
  readonly result?: 'pass' | 'fail'
}): string {
  const signer = result === 'pass' ? domain : 'forger.test'
  return `  <record>
    <row>
      <source_ip>${source}</source_ip>
      <count>${count}</count>
      <policy_evaluated>
        <disposition>none</disposition>
        <dkim>${result}</dkim>
        <spf>${result}</spf>
      </policy_evaluated>
    </row>
    <identifiers>
      <header_from>${domain}</header_from>
    </identifiers>
    <auth_results>
      <dkim>
        <domain>${signer}</domain>
        <result>${result}</result>
        <selector>dkim1</selector>
      </dkim>
      <spf>
        <domain>posthorn.${signer}</domain>
        <result>${result}</result>
      </spf>
    </auth_results>
  </record>`
}

/** As Microsoft writes it: a namespace declaration, a version, envelope identifiers, two signatures, in one line. */
export const microsoftAggregate =
  '<?xml version="1.0"?><feedback xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><version>1.0</version><report_metadata><org_name>Enterprise Outlook</org_name><email>dmarcreport@microsoft.com</email><report_id>0f3c1b7e9d2a4c5fb6a1</report_id><date_range><begin>1795305600</begin><end>1795392000</end></date_range></report_metadata><policy_published><domain>a.test</domain><adkim>r</adkim><aspf>r</aspf><p>quarantine</p><sp>quarantine</sp><pct>100</pct><fo>1</fo></policy_published><record><row><source_ip>2001:DB8:0::1</source_ip><count>7</count><policy_evaluated><disposition>none</disposition><dkim>pass</dkim><spf>fail</spf></policy_evaluated></row><identifiers><envelope_to>outlook.test</envelope_to><envelope_from>bounce.elsewhere.test</envelope_from><header_from>A.test</header_from></identifiers><auth_results><dkim><domain>esp.test</domain><selector>k1</selector><result>pass</result></dkim><dkim><domain>a.test</domain><selector>dkim1</selector><result>pass</result></dkim><spf><domain>bounce.elsewhere.test</domain><scope>mfrom</scope><result>softfail</result></spf></auth_results></record></feedback>'

/** As Yahoo writes it, with a reason, and the elements of RFC 9990 in its namespace with a prefix. */
export const yahooAggregate = `<?xml version="1.0"?>
<d:feedback xmlns:d="urn:ietf:params:xml:ns:dmarc-2.0">
 <d:version>1.0</d:version>
 <d:report_metadata>
  <d:org_name>Yahoo</d:org_name><d:email>dmarchelp@yahooinc.com</d:email>
  <d:report_id>1795398000.123456</d:report_id>
  <d:date_range><d:begin>1795305600</d:begin><d:end>1795391999</d:end></d:date_range>
  <d:generator>Reporter &amp; Sons 2.1</d:generator>
 </d:report_metadata>
 <d:policy_published>
  <d:domain>a.test</d:domain><d:p>reject</d:p><d:sp>reject</d:sp><d:discovery_method>treewalk</d:discovery_method><d:testing>n</d:testing>
 </d:policy_published>
 <d:record>
  <d:row><d:source_ip>192.0.2.1</d:source_ip><d:count>1</d:count>
   <d:policy_evaluated><d:disposition>pass</d:disposition><d:dkim>fail</d:dkim><d:spf>fail</d:spf>
    <d:reason><d:type>local_policy</d:type><d:comment>arc=pass</d:comment></d:reason></d:policy_evaluated></d:row>
  <d:identifiers><d:header_from>shop.a.test</d:header_from></d:identifiers>
  <d:auth_results><d:spf><d:domain>list.test</d:domain><d:result>pass</d:result></d:spf></d:auth_results>
 </d:record>
</d:feedback>`

export const tlsReport = JSON.stringify({
  'organization-name': 'Google Inc.',
  'date-range': { 'start-datetime': '2026-11-22T00:00:00Z', 'end-datetime': '2026-11-22T23:59:59Z' },
  'contact-info': 'smtp-tls-reporting@google.com',
  'report-id': '2026-11-22T00:00:00Z_a.test',
  policies: [
    {
      policy: {
        'policy-type': 'sts',
        'policy-string': ['version: STSv1', 'mode: testing', 'mx: mx.service.test', 'max_age: 86400'],
        'policy-domain': 'a.test',
        'mx-host': ['mx.service.test'],
      },
      summary: { 'total-successful-session-count': 90, 'total-failure-session-count': 10 },
      'failure-details': [
        {
          'result-type': 'certificate-expired',
          'sending-mta-ip': '192.0.2.9',
          'receiving-ip': '198.51.100.1',
          'receiving-mx-hostname': 'MX.service.test',
          'failed-session-count': 8,
        },
      ],
    },
  ],
})

/** A failure report of RFC 6591 about a message with a private subject. */
export function failureReport(domain = 'a.test'): string {
  return [
    'From: reports@b.test',
    'To: dmarc@mail.service.test',
    'Subject: DMARC failure',
    'Message-ID: <failure-1@b.test>',
    'Date: Sat, 21 Nov 2026 12:00:00 +0000',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=feedback-report; boundary=x',
    '',
    '--x',
    'Content-Type: text/plain',
    '',
    'An authentication failure.',
    '--x',
    'Content-Type: message/feedback-report',
    '',
    'Feedback-Type: auth-failure',
    'User-Agent: Reporter/1.0',
    'Version: 1',
    'Original-Mail-From: <private@forger.test>',
    'Arrival-Date: Sat, 21 Nov 2026 11:00:00 +0000',
    'Source-IP: 198.51.100.7',
    `Reported-Domain: ${domain}`,
    'Delivery-Result: reject',
    'Identity-Alignment: dkim, spf',
    'Authentication-Results: mx.b.test; dkim=fail header.d=forger.test; spf=pass smtp.mailfrom=forger.test',
    'Auth-Failure: dmarc',
    '--x',
    'Content-Type: message/rfc822',
    '',
    `From: Boss <boss@${domain}>`,
    'To: victim@b.test',
    'Subject: a private subject',
    '',
    'private words',
    '--x--',
    '',
  ].join('\r\n')
}

/** Lines of 76 characters. */
function toBase64(bytes: Buffer): string {
  return (bytes.toString('base64').match(/.{1,76}/g) ?? []).join('\r\n')
}

/** The whole message is the report, as Google sends it. */
export function reportMessage(
  content: Buffer,
  { type = 'application/zip', from = 'noreply@b.test', to = 'dmarc@mail.service.test', id = 'one' } = {},
): string {
  return [
    `From: ${from}`,
    `To: ${to}`,
    'Subject: Report Domain: a.test Submitter: b.test Report-ID: 1',
    `Message-ID: <${id}@b.test>`,
    'Date: Sat, 21 Nov 2026 12:00:00 +0000',
    'MIME-Version: 1.0',
    `Content-Type: ${type}; name="b.test!a.test!1795305600!1795391999.zip"`,
    'Content-Transfer-Encoding: base64',
    '',
    toBase64(content),
    '',
  ].join('\r\n')
}

/** With text for people and an attachment, as most send it. */
export function attachedReport(content: Buffer, type = 'application/gzip'): string {
  return [
    'From: DMARC Aggregate Report <dmarcreport@b.test>',
    'To: dmarc@mail.service.test',
    'Subject: Report Domain: a.test',
    'Message-ID: <attached@b.test>',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="=_b"',
    '',
    '--=_b',
    'Content-Type: text/html; charset=us-ascii',
    '',
    '<div>This is a DMARC aggregate report.</div>',
    '--=_b',
    `Content-Type: ${type}`,
    'Content-Transfer-Encoding: base64',
    'Content-Disposition: attachment; filename="b.test!a.test!1795305600!1795391999.xml.gz"',
    '',
    toBase64(content),
    '--=_b--',
    '',
  ].join('\r\n')
}

interface ZipFields {
  readonly name?: string
  readonly stored?: boolean
  /** What the directory says of the unpacked size. */
  readonly claimed?: number
  readonly flags?: number
  readonly comment?: string
}

/** An archive of one file. */
export function zip(content: Buffer, fields: ZipFields = {}): Buffer {
  return zipFiles([{ content, ...fields }], fields.comment)
}

/** An archive (APPNOTE sections 4.3.7, 4.3.12, 4.3.16). Flag 8: sizes stand behind the content and in the directory alone. */
export function zipFiles(files: readonly (ZipFields & { readonly content: Buffer })[], comment = ''): Buffer {
  const locals: Buffer[] = []
  const entries: Buffer[] = []
  let offset = 0
  for (const { content, name = 'report.xml', stored = false, claimed = content.length, flags = 0 } of files) {
    const packed = stored ? content : deflateRawSync(content)
    const nameBytes = Buffer.from(name)
    const common = Buffer.alloc(22)
    common.writeUInt16LE(flags, 0)
    common.writeUInt16LE(stored ? 0 : 8, 2)
    common.writeUInt32LE(crc32(content), 8)
    common.writeUInt32LE(packed.length, 12)
    common.writeUInt32LE(claimed, 16)
    common.writeUInt16LE(nameBytes.length, 20)
    const place = Buffer.alloc(16)
    place.writeUInt32LE(offset, 12)
    entries.push(Buffer.concat([Buffer.from('504b010214001400', 'hex'), common, place, nameBytes]))
    const isDescribed = (flags & 8) !== 0
    const descriptor = isDescribed
      ? Buffer.concat([Buffer.from('504b0708', 'hex'), common.subarray(8, 20)])
      : Buffer.alloc(0)
    const own = Buffer.from(common)
    if (isDescribed) own.fill(0, 8, 20)
    const local = Buffer.concat([
      Buffer.from('504b03041400', 'hex'),
      own,
      Buffer.alloc(2),
      nameBytes,
      packed,
      descriptor,
    ])
    locals.push(local)
    offset += local.length
  }
  const directory = Buffer.concat(entries)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(files.length, 8)
  end.writeUInt16LE(files.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  end.writeUInt16LE(comment.length, 20)
  return Buffer.concat([...locals, directory, end, Buffer.from(comment)])
}
