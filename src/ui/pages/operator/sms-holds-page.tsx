/**
 * Prefixes of phone numbers to which workspaces send no verification codes for a while. The operator can release
 * them.
 */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sessionApi, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { formatNumber } from '../../components/format.ts'
import { Empty, Loaded } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Page } from '../../components/page.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Note, Time } from '../../components/values.tsx'
import type { SmsHold } from './operator-types.ts'

/** Milliseconds until the list is loaded again. */
const REFRESH = 30_000

export function SmsHoldsPage(): VNode {
  const holds = useLoad(() => unwrap(sessionApi.GET('/ui/api/operator/sms-holds')), [], { every: () => REFRESH })
  const [releasing, setReleasing] = useState<SmsHold | null>(null)
  const release = async ({ workspace_id, prefix, workspace_name: name }: SmsHold): Promise<void> => {
    await unwrap(sessionApi.POST('/ui/api/operator/sms-holds/release', { body: { workspace_id, prefix } }))
    notify(`${name} may send codes to ${prefix} again.`)
    holds.reload()
  }
  return (
    <Page
      title="SMS holds"
      intro="When people enter too few of the verification codes sent to a prefix of phone numbers, the workspace sends no more there for a while. Often a program requests such codes for numbers whose operators earn from each message."
    >
      <Loaded from={holds}>
        {({ data, has_more: hasMore }) => (
          <>
            {hasMore ? (
              <Note tone="warn">There are more holds. These are the {formatNumber(data.length)} that end first.</Note>
            ) : null}
            {data.length === 0 ? (
              <NoHold />
            ) : (
              <Table
                caption="Prefixes that are held"
                columns={buildColumns(setReleasing)}
                rows={data}
                rowKey={({ workspace_id: id, prefix }) => `${id} ${prefix}`}
              />
            )}
          </>
        )}
      </Loaded>
      {releasing === null ? null : (
        <ReleaseDialog hold={releasing} onConfirm={() => release(releasing)} onClose={() => setReleasing(null)} />
      )}
    </Page>
  )
}

interface ReleaseDialogProps {
  readonly hold: SmsHold
  readonly onConfirm: () => Promise<void>
  readonly onClose: () => void
}

function ReleaseDialog({ hold: { prefix, workspace_name: name }, onConfirm, onClose }: ReleaseDialogProps): VNode {
  return (
    <ConfirmDialog title={`Allow codes to ${prefix} again?`} action="Release" onConfirm={onConfirm} onClose={onClose}>
      <p>
        {name} sends codes to such numbers at once. Posthorn counts from now on how many codes people enter. If there
        are too few, it holds the prefix again.
      </p>
    </ConfirmDialog>
  )
}

function NoHold(): VNode {
  return (
    <Empty title="No prefix is held">
      <p>All workspaces may send codes to all numbers that the configuration allows.</p>
    </Empty>
  )
}

function buildColumns(onRelease: (hold: SmsHold) => void): readonly Column<SmsHold>[] {
  return [
    { title: 'Prefix', show: ({ prefix }) => prefix },
    { title: 'Workspace', show: ({ workspace_name: name }) => name },
    { title: 'Codes sent', kind: 'number', show: ({ sent }) => formatNumber(sent) },
    { title: 'Entered', kind: 'number', show: ({ verified }) => formatNumber(verified) },
    { title: 'Held since', show: ({ held_at: at }) => <Time at={at} kind="relative" /> },
    { title: 'Until', show: ({ until_at: at }) => <Time at={at} /> },
    {
      title: 'Actions',
      kind: 'actions',
      show: (hold) => (
        <Button small onClick={() => onRelease(hold)} label={`Release ${hold.prefix} of ${hold.workspace_name}`}>
          Release
        </Button>
      ),
    },
  ]
}
