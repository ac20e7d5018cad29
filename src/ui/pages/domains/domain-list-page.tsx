/** All domains of the workspace. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { mayAdminister } from '../../api/session-state.ts'
import { type ListPage, loadOffsetPage, usePages } from '../../api/use-pages.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { ButtonLink } from '../../components/button.tsx'
import { Empty } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { showDomain } from '../../components/show-domain.ts'
import { type Column, PagedTable } from '../../components/table.tsx'
import { Time } from '../../components/values.tsx'
import { DomainStatus, isForced } from './domain-status.tsx'

type Domain = components['schemas']['ListedDomain']

export function DomainListPage(): VNode {
  const pages = usePages(loadDomains)
  const add = (
    <ButtonLink href="/domains/new" tone="primary">
      Add a domain
    </ButtonLink>
  )
  return (
    <Page
      title="Domains"
      intro="Mail is sent from verified domains, and received for those whose MX record points here."
      actions={
        <>
          {mayAdminister.value ? add : null}
          <ButtonLink href="/domains/breakers">Bounces and complaints</ButtonLink>
        </>
      }
    >
      <PagedTable
        caption="Domains of this workspace"
        pages={pages}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          <Empty title="No domain yet">
            <p>Add the domain from which you send. You get three DNS records to publish.</p>
          </Empty>
        }
      />
    </Page>
  )
}

const columns: readonly Column<Domain>[] = [
  { title: 'Domain', show: ({ id, domain }) => <DomainName id={id} domain={domain} /> },
  { title: 'Status', show: (domain) => <DomainStatus domain={domain} /> },
  { title: 'Records', show: (domain) => (isForced(domain) ? 'Not needed' : countCorrect(domain.dns_records)) },
  { title: 'Receives mail', show: ({ inbound }) => (inbound ? 'Yes' : 'No') },
  { title: 'Added', show: ({ created_at: at }) => <Time at={at} kind="day" /> },
  { title: 'Verified', show: ({ verified_at: at }) => <Time at={at} kind="day" /> },
]

function DomainName({ id, domain }: Pick<Domain, 'id' | 'domain'>): VNode {
  const shown = showDomain(domain)
  return (
    <>
      <Link href={`/domains/${id}`}>{allowBreaks(shown)}</Link>
      {shown === domain ? null : <span class="row-note">{allowBreaks(domain)}</span>}
    </>
  )
}

function countCorrect(records: Domain['dns_records']): string {
  if (records.every(({ status }) => status === 'pending')) return 'Not checked'
  return `${records.filter(({ status }) => status === 'verified').length} of ${records.length} correct`
}

function loadDomains(position: string | undefined): Promise<ListPage<Domain>> {
  return loadOffsetPage(position, (range) => unwrap(api.GET('/v1/domains', { params: { query: range } })))
}
