/** One domain: its state, the records to publish, what it receives, tracking, key rotation, deletion. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { asApiError } from '../../api/api-error.ts'
import { api, unwrap } from '../../api/client.ts'
import { mayAdminister } from '../../api/session-state.ts'
import { type Loading, useLoad } from '../../api/use-load.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Page, Section } from '../../components/page.tsx'
import type { PageProps } from '../../components/page-route.ts'
import { Facts, Note, StatusBadge, Time } from '../../components/values.tsx'
import type { Domain } from './domain.ts'
import { DomainRecords } from './domain-records.tsx'
import { DomainSettings } from './domain-settings.tsx'
import { type FoundRecord, readFoundRecords } from './found-records.ts'
import { KeyRotation } from './key-rotation.tsx'

export function DomainPage({ params: { id = '' } }: PageProps): VNode {
  const domain = useLoad(() => unwrap(api.GET('/v1/domains/{id}', { params: { path: { id } } })), [id])
  const [found, setFound] = useState<readonly FoundRecord[]>([])
  const verify = async (): Promise<void> => {
    try {
      domain.replace(await unwrap(api.POST('/v1/domains/{id}/verify', { params: { path: { id } } })))
      setFound([])
      notify('All records are correct. The domain is verified.')
    } catch (thrown) {
      const error = asApiError(thrown)
      setFound(readFoundRecords(error.details))
      domain.reload()
      throw error
    }
  }
  const check = (
    <Button tone="primary" onClick={verify}>
      Check the records now
    </Button>
  )
  return (
    <Page
      title={domain.data?.domain ?? 'Domain'}
      badge={domain.data === undefined ? null : <StatusBadge status={domain.data.status} />}
      up={{ href: '/domains', label: 'Domains' }}
      actions={mayAdminister.value && domain.data !== undefined ? check : undefined}
    >
      <Loaded from={domain}>{(data) => <DomainParts domain={data} from={domain} found={found} />}</Loaded>
    </Page>
  )
}

interface PartsProps {
  readonly domain: Domain
  readonly from: Loading<Domain>
  readonly found: readonly FoundRecord[]
}

function DomainParts({ domain, from, found }: PartsProps): VNode {
  const { created_at: created, verified_at: verified, checked_at: checked, fails_at: failsAt } = domain
  return (
    <>
      {failsAt === null ? null : (
        <Note tone="bad" title="Records of this domain are missing in DNS">
          <p>
            Unless they return, sending from it stops at <Time at={failsAt} />. Publish the records below that are not
            correct, then check them.
          </p>
        </Note>
      )}
      <Facts
        facts={[
          { name: 'Added', value: <Time at={created} /> },
          { name: 'Verified', value: <Time at={verified} otherwise="Not yet" /> },
          { name: 'Last check of all records', value: <Time at={checked} otherwise="Not yet" /> },
          { name: 'Receives mail', value: domain.inbound ? 'Yes' : 'No' },
        ]}
      />
      <DomainRecords domain={domain} found={found} />
      {mayAdminister.value ? (
        <>
          <DomainSettings domain={domain} onChanged={from.replace} />
          <KeyRotation domain={domain} onChanged={from.replace} />
          <DomainDeletion domain={domain} />
        </>
      ) : null}
    </>
  )
}

function DomainDeletion({ domain: { id, domain } }: { readonly domain: Domain }): VNode {
  const [open, setOpen] = useState(false)
  const [, navigate] = useLocation()
  const remove = async (): Promise<void> => {
    await unwrap(api.DELETE('/v1/domains/{id}', { params: { path: { id } } }))
    notify(`${domain} is deleted.`)
    navigate('/domains')
  }
  return (
    <Section title="Delete the domain" intro="Nothing more is sent from it, and its queued mail fails.">
      <Button tone="danger" onClick={() => setOpen(true)}>
        Delete {domain}
      </Button>
      {open ? (
        <ConfirmDialog
          title={`Delete ${domain}?`}
          name={domain}
          action="Delete the domain"
          onConfirm={remove}
          onClose={() => setOpen(false)}
        >
          <p>Nothing more is sent from this domain or received for it, and its queued mail fails.</p>
        </ConfirmDialog>
      ) : null}
    </Section>
  )
}
