/** Recovery codes of the second factor: shows how many are left, makes new ones, and shows them once. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { blameField } from '../../api/blame-field.ts'
import { sessionApi, unwrap } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readExactText, readText } from '../../components/form-values.ts'
import { CopyButton, Note } from '../../components/values.tsx'
import { readSession } from '../../session/sign-in.ts'

/** The page warns below this number. */
const FEW = 3

interface RecoveryCodesLeftProps {
  readonly left: number
  readonly onReplace: () => void
}

export function RecoveryCodesLeft({ left, onReplace }: RecoveryCodesLeftProps): VNode {
  const button = <Button onClick={onReplace}>Make new recovery codes</Button>
  const count = left === 1 ? '1 recovery code is left.' : `${left === 0 ? 'No' : left} recovery codes are left.`
  if (left >= FEW) {
    return (
      <>
        <p>{count}</p>
        <p>{button}</p>
      </>
    )
  }
  return (
    <Note tone="warn" title={count}>
      <p>You cannot sign in without the app or a code. Make new codes while you have the app.</p>
      {button}
    </Note>
  )
}

export function ReplaceCodesDialog({ onClose }: { readonly onClose: () => void }): VNode {
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const replace = async (values: FormData): Promise<void> => {
    const body = { password: readExactText(values, 'password'), code: readText(values, 'code') }
    const made = await blameField('password', unwrap(sessionApi.POST('/ui/api/recovery-codes', { body })))
    setCodes(made.recovery_codes)
  }
  const finish = async (): Promise<void> => {
    onClose()
    await readSession()
  }
  if (codes !== null) return <RecoveryCodes title="New recovery codes" codes={codes} onClose={finish} />
  return (
    <Dialog title="Make new recovery codes" onClose={onClose}>
      <p>The codes that you have now will stop working.</p>
      <Form onSubmit={replace}>
        <TextField name="password" label="Your password" type="password" autoComplete="current-password" />
        <TextField name="code" label="Code from the app" inputMode="numeric" autoComplete="one-time-code" />
        <FormActions>
          <SubmitButton>Make new codes</SubmitButton>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}

interface RecoveryCodesProps {
  readonly title: string
  readonly codes: readonly string[]
  readonly onClose: () => Promise<void>
}

export function RecoveryCodes({ title, codes, onClose }: RecoveryCodesProps): VNode {
  return (
    <Dialog title={title} onClose={() => void onClose()}>
      <Note tone="warn" title="Keep these recovery codes">
        <p>Each code signs you in once without the app. This page shows them only now.</p>
      </Note>
      <ul class="codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <div class="form-actions">
        <Button tone="primary" onClick={onClose}>
          I have kept them
        </Button>
        <CopyButton text={codes.join('\n')} label="all recovery codes" />
      </div>
    </Dialog>
  )
}
