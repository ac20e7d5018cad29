/** The members of the workspace and the invitations to it. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, unwrap } from '../../api/client.ts'
import { mayAdminister, sessionInfo, workspace } from '../../api/session-state.ts'
import { type ListPage, loadOffsetPage, usePages } from '../../api/use-pages.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Button } from '../../components/button.tsx'
import { Empty } from '../../components/loaded.tsx'
import { Page, Section } from '../../components/page.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { StatusBadge, Time } from '../../components/values.tsx'
import { InvitationList } from './invitation-list.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { currentWorkspaceId, type Member, nameMember } from './member.ts'
import { RemoveMemberDialog, RoleDialog, TransferDialog } from './member-dialogs.tsx'

type Act = 'role' | 'removal' | 'transfer'

const dialogs = { role: RoleDialog, removal: RemoveMemberDialog, transfer: TransferDialog } as const

interface Shown {
  readonly act: Act
  readonly member: Member
}

export function MemberListPage(): VNode {
  const [inviting, setInviting] = useState(false)
  /** The number of changes. Both lists are loaded again after each. */
  const [changes, setChanges] = useState(0)
  const noteChange = (): void => setChanges((before) => before + 1)
  const invite = (
    <Button tone="primary" onClick={() => setInviting(true)}>
      Invite a person
    </Button>
  )
  return (
    <Page
      title="Members"
      intro={`The people who belong to ${workspace.value?.name ?? 'this workspace'}, and what they may do.`}
      actions={mayAdminister.value ? invite : undefined}
    >
      <MemberList changes={changes} onChanged={noteChange} />
      <Section title="Invitations" intro="People who were asked to join and have not answered yet.">
        <InvitationList changes={changes} />
      </Section>
      {inviting ? <InviteDialog onInvited={noteChange} onClose={() => setInviting(false)} /> : null}
    </Page>
  )
}

interface MemberListProps {
  readonly changes: number
  readonly onChanged: () => void
}

function MemberList({ changes, onChanged }: MemberListProps): VNode {
  const pages = usePages(loadMembers, [changes])
  const [shown, setShown] = useState<Shown | null>(null)
  const OpenDialog = shown === null ? null : dialogs[shown.act]
  return (
    <>
      <PagedTable
        caption="Members of this workspace"
        pages={pages}
        columns={mayAdminister.value ? [...columns, buildActions(setShown)] : columns}
        rowKey={({ id }) => id}
        empty={<Empty title="No member" />}
      />
      {shown === null || OpenDialog === null ? null : (
        <OpenDialog member={shown.member} onChanged={onChanged} onClose={() => setShown(null)} />
      )}
    </>
  )
}

const columns: readonly Column<Member>[] = [
  {
    title: 'Person',
    show: (member) => (
      <>
        {allowBreaks(nameMember(member))}
        {member.user.id === sessionInfo.value?.user.id ? <span class="soft"> (you)</span> : null}
        {member.user.full_name === '' ? null : <span class="row-note">{allowBreaks(member.user.email)}</span>}
      </>
    ),
  },
  { title: 'Role', show: ({ role }) => <StatusBadge status={role} tone={role === 'member' ? 'neutral' : 'info'} /> },
  { title: 'Joined', show: ({ joined_at: at }) => <Time at={at} kind="day" /> },
]

/** The owner cannot be changed or removed. Only the owner transfers the workspace. */
function buildActions(onAct: (shown: Shown) => void): Column<Member> {
  return {
    title: 'Actions',
    kind: 'actions',
    show: (member) => {
      const name = nameMember(member)
      if (member.role === 'owner') return null
      return (
        <>
          <Button small onClick={() => onAct({ act: 'role', member })} label={`Change the role of ${name}`}>
            Change role
          </Button>
          {workspace.value?.role === 'owner' ? (
            <Button small onClick={() => onAct({ act: 'transfer', member })} label={`Make ${name} the owner`}>
              Make owner
            </Button>
          ) : null}
          <Button small onClick={() => onAct({ act: 'removal', member })} label={`Remove ${name}`}>
            Remove
          </Button>
        </>
      )
    },
  }
}

function loadMembers(position: string | undefined): Promise<ListPage<Member>> {
  return loadOffsetPage(position, (range) =>
    unwrap(api.GET('/v1/members', { params: { query: { workspaceId: currentWorkspaceId(), ...range } } })),
  )
}
