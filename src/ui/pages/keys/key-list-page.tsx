/** The API keys of the workspace, with revoked ones. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { type ListPage, toOffsetPage, usePages } from '../../api/use-pages.ts'
import { Button, ButtonLink } from '../../components/button.tsx'
import { readNow } from '../../components/clock.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Empty } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { StatusBadge, Time } from '../../components/values.tsx'
import { mayAdminister } from '../../session/session-state.ts'
import { notify } from '../../shell/notices.tsx'

type Key = components['schemas']['ApiKey']

const PAGE_SIZE = 50

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
      intro="The secret of requests to the REST interface, and the password of SMTP."
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
      {revoking === null ? null : (
        <RevokeDialog apiKey={revoking} onRevoked={pages.reload} onClose={() => setRevoking(null)} />
      )}
    </Page>
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
      <p>Requests and SMTP sessions with this key end at once. A revoked key cannot be restored.</p>
    </ConfirmDialog>
  )
}

const columns: readonly Column<Key>[] = [
  { title: 'Name', show: ({ name }) => name },
  { title: 'Key', show: ({ key_prefix: prefix }) => <code>{prefix}…</code> },
  { title: 'Scopes', show: ({ scopes }) => scopes.join(', ') },
  { title: 'State', show: (key) => <KeyState apiKey={key} /> },
  { title: 'Limits', show: (key) => describeLimits(key) },
  { title: 'Last used', show: ({ last_used_at: at }) => <Time at={at} kind="relative" otherwise="Never" /> },
  { title: 'Created', show: ({ created_at: at }) => <Time at={at} kind="day" /> },
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

function describeLimits({ allowed_domains: domains, allowed_networks: networks }: Key): string {
  const limits = [...domains, ...networks]
  return limits.length === 0 ? 'None' : limits.join(', ')
}

async function loadKeys(position: string | undefined): Promise<ListPage<Key>> {
  const query = { limit: PAGE_SIZE + 1, offset: Number(position ?? 0) }
  const { data } = await unwrap(api.GET('/v1/api-keys', { params: { query } }))
  return toOffsetPage(data, position, PAGE_SIZE)
}
