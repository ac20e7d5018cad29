/** Bounces and complaints of all mail of the workspace, and what is held because of them. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { BreakerTable } from './breaker-table.tsx'

export function BreakerListPage(): VNode {
  const breakers = useLoad(() => unwrap(api.GET('/v1/breakers')))
  return (
    <Page
      title="Bounces and complaints"
      intro="If too much mail of a domain or broadcast bounces or is reported as spam, Posthorn holds the rest before providers block it. Domains and broadcasts in order are left out."
      up={{ href: '/domains', label: 'Domains' }}
    >
      <Loaded from={breakers}>{({ data }) => <BreakerTable breakers={data} onReleased={breakers.reload} />}</Loaded>
    </Page>
  )
}
