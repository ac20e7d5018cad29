/** Sends test copies of a draft to a few addresses. */
import type { VNode } from 'preact'
import { asApiError, toFieldError } from '../../api/api-error.ts'
import { api, unwrap } from '../../api/client.ts'
import { sessionInfo } from '../../api/session-state.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { TextArea } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readExactText } from '../../components/form-values.ts'
import { notify } from '../../components/notices.tsx'

interface TestDialogProps {
  readonly id: string
  readonly onClose: () => void
}

const MAX_COPIES = 10

export function TestDialog({ id, onClose }: TestDialogProps): VNode {
  const send = async (values: FormData): Promise<void> => {
    const addresses = readAddresses(values)
    await sendCopies(id, addresses)
    notify(`A test is sent to ${addresses.join(', ')}.`)
    onClose()
  }
  return (
    <Dialog title="Send a test" onClose={onClose}>
      <Form onSubmit={send}>
        <TextArea
          name="to"
          label="To"
          rows={2}
          value={sessionInfo.value?.user.email ?? ''}
          hint={`Up to ${MAX_COPIES} addresses, one per line. The test uses the values of a contact in the audience. Its links are not tracked, and it does not count in the results.`}
        />
        <FormActions>
          <SubmitButton>Send the test</SubmitButton>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}

function readAddresses(values: FormData): readonly string[] {
  const words = readExactText(values, 'to').split(/[\s,;]+/)
  const addresses = [...new Set(words.filter((word) => word !== ''))]
  if (addresses.length === 0) throw toFieldError('to', 'Fill in this field.')
  if (addresses.length > MAX_COPIES) throw toFieldError('to', `At most ${MAX_COPIES} addresses.`)
  return addresses
}

/** One copy after the other. The error of a copy names those that were sent before it. */
async function sendCopies(id: string, addresses: readonly string[]): Promise<void> {
  for (const [at, to] of addresses.entries()) {
    await unwrap(api.POST('/v1/broadcasts/{id}/test', { params: { path: { id } }, body: { to } })).catch(
      (thrown: unknown) => {
        const sent = at === 0 ? '' : ` Sent before: ${addresses.slice(0, at).join(', ')}.`
        throw toFieldError('to', `${to}: ${asApiError(thrown).message}${sent}`)
      },
    )
  }
}
