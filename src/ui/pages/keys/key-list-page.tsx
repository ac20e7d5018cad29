/** The API keys of the workspace, including revoked ones. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { mayAdminister } from '../../api/session-state.ts'
import { type ListPage, loadOffsetPage, usePages } from '../../api/use-pages.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Button, ButtonLink } from '../../components/button.tsx'
import { readNow } from '../../components/clock.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Empty } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Page } from '../../components/page.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { StatusBadge, Time, toWords } from '../../components/values.tsx'
import { SendingSamples } from './sending-samples.tsx'

type Key = components['schemas']['ApiKey']

export function KeyListPage(): VNode {
  const pages = usePages(loadKeys)
  const [revoking, setRevoking] = useState<Key | null>(null)
  const create = (
    <ButtonLink href="/keys/new" tone="primary">
      Create a key
    </ButtonLink>
  )
  return (
    <Page
      title="API keys"
      intro="Programs sign in with a key: in requests to the REST API, and as the password of SMTP."
      actions={mayAdminister.value ? create : undefined}
    >
      <PagedTable
        caption="API keys of this workspace"
        pages={pages}
        columns={mayAdminister.value ? [...columns, buildActions(setRevoking)] : columns}
        rowKey={({ id }) => id}
        empty={
          <Empty title="No key yet">
            <p>Create one for each program that sends or reads mail.</p>
          </Empty>
        }
      />
      <HowToSend />
      {revoking === null ? null : (
        <RevokeDialog apiKey={revoking} onRevoked={pages.reload} onClose={() => setRevoking(null)} />
      )}
    </Page>
  )
}

/** The samples are loaded when the user opens them. */
function HowToSend(): VNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <details class="more" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>How a program sends with a key</summary>
      {isOpen ? <SendingSamples apiKey={null} /> : null}
    </details>
  )
}

interface RevokeDialogProps {
  readonly apiKey: Key
  readonly onRevoked: () => void
  readonly onClose: () => void
}

function RevokeDialog({ apiKey: { id, name }, onRevoked, onClose }: RevokeDialogProps): VNode {
  const revoke = async (): Promise<void> => {
    await unwrap(api.DELETE('/v1/api-keys/{id}', { params: { path: { id } } }))
    notify(`The key “${name}” is revoked.`)
    onRevoked()
  }
  return (
    <ConfirmDialog
      title={`Revoke the key “${name}”?`}
      name={name}
      action="Revoke the key"
      onConfirm={revoke}
      onClose={onClose}
    >
      <p>Requests and SMTP sessions with this key end at once. You cannot restore a revoked key.</p>
    </ConfirmDialog>
  )
}

const columns: readonly Column<Key>[] = [
  {
    title: 'Name',
    show: ({ name, key_prefix: prefix }) => (
      <span class="wide-value">
        {name}
        <code class="row-note">{prefix}…</code>
      </span>
    ),
  },
  { title: 'Access', show: (key) => <Access apiKey={key} /> },
  { title: 'State', show: (key) => <KeyState apiKey={key} /> },
  {
    title: 'Last used',
    show: ({ last_used_at: used, created_at: created }) => (
      <>
        <Time at={used} kind="relative" otherwise="Never" />
        <span class="row-note">
          created <Time at={created} kind="day" />
        </span>
      </>
    ),
  },
]

function buildActions(onRevoke: (key: Key) => void): Column<Key> {
  return {
    title: 'Actions',
    kind: 'actions',
    show: (key) =>
      key.revoked_at === null ? (
        <Button small onClick={() => onRevoke(key)} label={`Revoke ${key.name}`}>
          Revoke
        </Button>
      ) : null,
  }
}

function KeyState({ apiKey: { revoked_at: revokedAt, expires_at: expiresAt } }: { readonly apiKey: Key }): VNode {
  if (revokedAt !== null) return <StatusBadge status="revoked" />
  if (expiresAt === null) return <StatusBadge status="active" />
  if (new Date(expiresAt).getTime() <= readNow()) return <StatusBadge status="expired" />
  return (
    <>
      <StatusBadge status="active" />
      <span class="row-note">
        until <Time at={expiresAt} />
      </span>
    </>
  )
}

/** Shows the scopes of the key, the domains and networks to which it is limited, and what replaces senders. */
function Access({ apiKey }: { readonly apiKey: Key }): VNode {
  const { scopes, allowed_domains: domains, allowed_networks: networks, sender } = apiKey
  return (
    <>
      {scopes.map(toWords).join(', ')}
      {domains.length === 0 ? null : <span class="row-note">sends from {allowBreaks(domains.join(', '))}</span>}
      {sender === null ? null : <span class="row-note">other senders become {allowBreaks(sender)}</span>}
      {networks.map((network) => (
        <span key={network} class="row-note">
          from {network}
        </span>
      ))}
    </>
  )
}

function loadKeys(position: string | undefined): Promise<ListPage<Key>> {
  return loadOffsetPage(position, (range) => unwrap(api.GET('/v1/api-keys', { params: { query: range } })))
}
