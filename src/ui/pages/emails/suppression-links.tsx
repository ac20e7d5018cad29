/** Leads from a step of a story to the entry of the suppression list, and takes the address off the list. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { notify } from '../../components/notices.tsx'

interface SuppressionLinksProps {
  readonly id: string
  readonly address: string
  readonly onRemoved: () => void
}

export function SuppressionLinks({ id, address, onRemoved }: SuppressionLinksProps): VNode {
  const [asking, setAsking] = useState(false)
  const remove = async (): Promise<void> => {
    await unwrap(api.DELETE('/v1/suppressions/{id}', { params: { path: { id } } }))
    notify(`${address} is no longer suppressed.`)
    onRemoved()
  }
  return (
    <p class="timeline-links">
      <Link href={toSuppression(address)}>Show the entry of {address}</Link>
      <Button small label={`Undo: remove ${address} from the suppression list`} onClick={() => setAsking(true)}>
        Undo
      </Button>
      {asking ? (
        <ConfirmDialog
          title={`Send email to ${address} again?`}
          action="Remove the address from the list"
          onConfirm={remove}
          onClose={() => setAsking(false)}
        >
          <p>
            The address leaves the suppression list, so later email is sent to it. This email is not sent again.
            Addresses that bounced or complained harm your reputation, so be sure that the address works and that its
            owner wants your email.
          </p>
        </ConfirmDialog>
      ) : null}
    </p>
  )
}

/** Returns the address of the list with only this entry. */
export function toSuppression(address: string): string {
  return `/suppressions?${new URLSearchParams({ email: address })}`
}
