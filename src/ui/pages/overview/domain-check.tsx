/** Shows which DNS records of a domain are still missing, and checks them again. */
import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { useLoad } from '../../api/use-load.ts'
import { Button, ButtonLink } from '../../components/button.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Copy, StatusBadge } from '../../components/values.tsx'

type Domain = components['schemas']['Domain']
type DnsRecord = Domain['dns_records'][number]

interface DomainCheckProps {
  readonly id: string
  readonly onVerified: () => void
}

/** Milliseconds between two loads. The service looks at DNS by itself. */
const PAUSE = 10_000

export function DomainCheck({ id, onVerified }: DomainCheckProps): VNode {
  const path = { path: { id } }
  const domain = useLoad(() => unwrap(api.GET('/v1/domains/{id}', { params: path })), [id], { every: () => PAUSE })
  const status = domain.data?.status
  useEffect(() => {
    if (status === 'verified') onVerified()
  }, [status])
  const check = async (): Promise<void> => {
    try {
      domain.replace(await unwrap(api.POST('/v1/domains/{id}/verify', { params: path })))
    } catch (thrown) {
      // The answer says what is wrong, and the records have their new states.
      domain.reload()
      throw thrown
    }
  }
  return (
    <Loaded from={domain}>
      {({ dns_records: records }) => (
        <div class="step-records">
          <p>Publish these records where the DNS of the domain is managed. The state changes here by itself.</p>
          <Table caption="DNS records to publish" columns={columns} rows={records} rowKey={({ name }) => name} />
          <div class="form-actions">
            <Button tone="primary" onClick={check}>
              Check now
            </Button>
            <ButtonLink href={`/domains/${id}`} tone="quiet">
              All settings of this domain
            </ButtonLink>
          </div>
        </div>
      )}
    </Loaded>
  )
}

const columns: readonly Column<DnsRecord>[] = [
  { title: 'Type', show: ({ type }) => <span class="one-line">{type}</span> },
  { title: 'Name', show: ({ name }) => <Copy text={name} label={`the name ${name}`} /> },
  { title: 'Value', show: ({ name, value }) => <Copy text={value} label={`the value of ${name}`} /> },
  { title: 'State', isPlain: true, show: ({ status }) => <StatusBadge status={status} /> },
]
