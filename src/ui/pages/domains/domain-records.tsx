/** Shows the DNS records of a domain to copy, with their live state. */
import type { VNode } from 'preact'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Section } from '../../components/page.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Copy, Note, StatusBadge } from '../../components/values.tsx'
import type { Domain } from './domain.ts'
import type { FoundRecord } from './found-records.ts'
import './domains.css'

interface RecordRow {
  readonly type: string
  readonly name: string
  readonly value: string
  readonly status: string
  readonly use: string
}

interface DomainRecordsProps {
  readonly domain: Domain
  /** The records that a failed check found. */
  readonly found: readonly FoundRecord[]
}

const uses = {
  mail_cname: 'Return path and tracking',
  dkim1: 'First signing key',
  dkim2: 'Second signing key',
} as const

export function DomainRecords({ domain, found }: DomainRecordsProps): VNode {
  const required = domain.dns_records.map((record) => ({ ...record, use: uses[record.purpose] }))
  const { mx_record: mx, dmarc_record: dmarc } = domain
  const suggested = [
    { ...mx, value: `${mx.priority} ${mx.value}`, use: domain.inbound ? 'Receives mail' : 'Only to receive mail' },
    { ...dmarc, use: 'DMARC: any policy is accepted' },
  ]
  const columns = buildColumns(found)
  return (
    <>
      <Section
        title="Records to publish"
        intro="Publish these records where the DNS of the domain is managed. DNS can take some minutes to show changes."
      >
        <div class="records">
          <Table caption="Required DNS records" columns={columns} rows={required} rowKey={({ name }) => name} />
        </div>
        {found.length === 0 ? null : (
          <Note tone="warn">
            <p>The check found values that differ from the ones to publish. Each record lists what the check found.</p>
          </Note>
        )}
        <TxtRecords domain={domain} />
      </Section>
      <Section title="Suggested records" intro="The domain is verified without them.">
        <div class="records">
          <Table caption="Suggested DNS records" columns={columns} rows={suggested} rowKey={({ name }) => name} />
        </div>
      </Section>
    </>
  )
}

function buildColumns(found: readonly FoundRecord[]): readonly Column<RecordRow>[] {
  return [
    { title: 'Record', show: ({ type, use }) => <RecordTitle type={type} use={use} /> },
    { title: 'Name', show: ({ type, name }) => <Copy text={name} label={`the name of the ${type} record ${name}`} /> },
    {
      title: 'Value',
      show: ({ type, name, value }) => (
        <>
          <Copy text={value} label={`the value of the ${type} record ${name}`} />
          <FoundValue name={name} value={value} found={found} />
        </>
      ),
    },
    { title: 'State', show: ({ status }) => <StatusBadge status={status}>{stateNames[status]}</StatusBadge> },
  ]
}

const stateNames: Readonly<Record<string, string>> = {
  pending: 'Not checked',
  verified: 'Correct',
  failed: 'Missing or wrong',
}

function RecordTitle({ type, use }: { readonly type: string; readonly use: string }): VNode {
  return (
    <>
      {type}
      <span class="row-note">{use}</span>
    </>
  )
}

interface FoundValueProps {
  readonly name: string
  readonly value: string
  readonly found: readonly FoundRecord[]
}

function FoundValue({ name, value, found }: FoundValueProps): VNode | null {
  const record = found.find((one) => one.name === name)
  if (record === undefined || record.found === value) return null
  return (
    <span class="row-note row-note-bad">
      {record.found === null ? 'No such record was found.' : <>Found: {allowBreaks(record.found)}</>}
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
          { title: 'Name', show: ({ name, selector }) => <Copy text={name} label={`the name of ${selector}`} /> },
          { title: 'Value', show: ({ txt, selector }) => <Copy text={txt} label={`the TXT value of ${selector}`} /> },
        ]}
        rows={keys}
        rowKey={({ selector }) => selector}
      />
    </details>
  )
}
