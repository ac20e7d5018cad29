/** Shows the DNS records of a domain to copy, with what DNS has now in their place. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from '../../components/button.tsx'
import { Section } from '../../components/page.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Copy, CopyButton } from '../../components/values.tsx'
import { type DnsProvider, dnsProviders, recogniseProvider } from './dns-providers.ts'
import type { Domain } from './domain.ts'
import { isForced } from './domain-status.tsx'
import { MxWarning } from './mx-warning.tsx'
import { findObserved, type ObservedDns } from './observed-dns.ts'
import { ProviderHints } from './provider-hints.tsx'
import { FoundValue, RecordState } from './record-state.tsx'
import { RecordsSummary } from './records-summary.tsx'
import { saveText } from './save-text.ts'
import { formatLines, formatZoneFile, listRecords } from './zone-file.ts'
import './domains.css'

interface RecordRow {
  readonly type: string
  readonly name: string
  readonly relative_name: string
  readonly value: string
  readonly status: string | null
  readonly use: string
}

interface DomainRecordsProps {
  readonly domain: Domain
  /** What DNS has now. Undefined until it was looked up. */
  readonly dns: ObservedDns | undefined
}

const uses = {
  mail_cname: 'Return path and tracking',
  dkim1: 'First signing key',
  dkim2: 'Second signing key',
} as const

export function DomainRecords({ domain, dns }: DomainRecordsProps): VNode {
  const [chosen, choose] = useState<string | null>(null)
  const nameservers = dns?.nameservers ?? []
  const provider =
    chosen === null ? recogniseProvider(nameservers) : (dnsProviders.find(({ id }) => id === chosen) ?? null)
  const required = domain.dns_records.map((record) => ({ ...record, use: uses[record.purpose] }))
  const columns = buildColumns(dns, provider, isForced(domain))
  const zone = domain.dns_zone
  return (
    <>
      <Section title="Records to publish" intro={describeTask(domain)} actions={<AllRecords domain={domain} />}>
        <ProviderHints {...{ zone, nameservers, provider }} onChoose={choose} />
        <div class="records">
          <Table caption="Required DNS records" columns={columns} rows={required} rowKey={({ name }) => name} />
        </div>
        <RecordsSummary domain={domain} dns={dns} />
        <TxtRecords domain={domain} />
      </Section>
      <SuggestedRecords domain={domain} dns={dns} columns={columns} />
    </>
  )
}

function describeTask(domain: Domain): string {
  const zone = domain.dns_zone
  if (isForced(domain)) {
    return `The operator has verified ${domain.domain} without DNS, so it sends without these records. A real domain needs them in its zone, here ${zone}.`
  }
  return `Publish these records in the zone ${zone}. DNS can take some minutes to show changes.`
}

/** All records at once: to copy, and as a file. */
function AllRecords({ domain }: { readonly domain: Domain }): VNode {
  const records = listRecords(domain)
  const save = (): void => saveText(formatZoneFile(domain.dns_zone, records), `${domain.domain}.zone`)
  return (
    <>
      <CopyButton text={formatLines(records.filter(({ required }) => required))} label="all required records">
        Copy all required records
      </CopyButton>
      <Button small onClick={save}>
        Download as a zone file
      </Button>
    </>
  )
}

function SuggestedRecords({
  domain,
  dns,
  columns,
}: DomainRecordsProps & { readonly columns: readonly Column<RecordRow>[] }): VNode {
  const { mx_record: mx, dmarc_record: dmarc, tls_records: tls } = domain
  const suggested = [
    { ...dmarc, use: 'DMARC: any policy is accepted' },
    { ...mx, value: `${mx.priority} ${mx.value}`, use: domain.inbound ? 'Receives mail' : 'Only to receive mail' },
  ]
  const ofTls = tls.map((record) => ({
    ...record,
    status: null,
    use: record.type === 'TXT' ? 'Asks for TLS reports' : 'TLS policy (MTA-STS)',
  }))
  return (
    <Section title="Suggested records" intro="The domain is verified without them.">
      <div class="records">
        <Table
          caption="Suggested DNS records"
          columns={columns}
          rows={suggested}
          rowKey={({ type, name }) => `${type} ${name}`}
        />
      </div>
      <MxWarning domain={domain} found={findObserved(dns, { type: 'MX', name: domain.domain })} />
      <details class="more">
        <summary>Records about encryption, if all mail of the domain arrives here</summary>
        <div class="records">
          <Table caption="DNS records about TLS" columns={columns} rows={ofTls} rowKey={({ name }) => name} />
        </div>
      </details>
    </Section>
  )
}

function buildColumns(
  dns: ObservedDns | undefined,
  provider: DnsProvider | null,
  isOptional: boolean,
): readonly Column<RecordRow>[] {
  return [
    { title: 'Record', show: ({ type, use }) => <RecordTitle type={type} use={use} /> },
    { title: 'Name', show: (record) => <RecordName {...record} /> },
    {
      title: 'Value',
      show: ({ type, name, value }) => {
        const text = provider?.endsWithDot === true && type !== 'TXT' ? `${value}.` : value
        return (
          <>
            <Copy text={text} label={`the value of the ${type} record ${name}`} />
            <FoundValue found={findObserved(dns, { type, name })} />
          </>
        )
      },
    },
    {
      title: 'State',
      show: ({ type, name, status }) => {
        const found = findObserved(dns, { type, name })
        return isOptional && found?.state === 'missing' ? (
          <span class="soft">Not needed here</span>
        ) : (
          <RecordState status={status} found={found} />
        )
      },
    },
  ]
}

function RecordTitle({ type, use }: { readonly type: string; readonly use: string }): VNode {
  return (
    <>
      {type}
      <span class="row-note">{use}</span>
    </>
  )
}

/** The short name first, which most providers ask for. */
function RecordName({ type, name, relative_name: short }: RecordRow): VNode {
  return (
    <>
      <Copy text={short} label={`the short name of the ${type} record ${name}`} />
      <FullName name={name} label={`the name of the ${type} record ${name}`} />
    </>
  )
}

function FullName({ name, label }: { readonly name: string; readonly label: string }): VNode {
  return (
    <span class="row-note full-name">
      <span class="one-line">In full:</span>
      <Copy text={name} label={label} />
    </span>
  )
}

function TxtRecords({ domain: { dkim_keys: keys } }: { readonly domain: Domain }): VNode {
  return (
    <details class="more">
      <summary>If your DNS provider allows no CNAME records below _domainkey</summary>
      <p>Publish the keys as TXT records instead. After a rotation you must publish them again.</p>
      <Table
        caption="Signing keys as TXT records"
        columns={[
          { title: 'Key', show: ({ selector, signing }) => `${selector}${signing ? ', signs now' : ''}` },
          {
            title: 'Name',
            show: ({ name, relative_name: short, selector }) => (
              <>
                <Copy text={short} label={`the short name of ${selector}`} />
                <FullName name={name} label={`the name of ${selector}`} />
              </>
            ),
          },
          { title: 'Value', show: ({ txt, selector }) => <Copy text={txt} label={`the TXT value of ${selector}`} /> },
        ]}
        rows={keys}
        rowKey={({ selector }) => selector}
      />
    </details>
  )
}
