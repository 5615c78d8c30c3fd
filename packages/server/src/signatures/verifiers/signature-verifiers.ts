import {
  type ListSignatureVerifiersRequest,
  type SignatureVerifier,
  SignatureVerifierSchema,
  SignatureVerifiersService,
} from '@berth/contract/gen/berth/registry/v1/signature_verifiers_pb.js'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { alreadyExists } from '../../api/errors.ts'
import { checkDescription, checkName } from '../../api/fields.ts'
import { timestampOf } from '../../api/messages.ts'
import { lockGroup } from '../../iam/groups/parent-group.ts'
import { implement } from '../../pipeline/call.ts'
import { queueAllSignedImages } from '../../registry/manifests/signature-changes.ts'
import { resourceType } from '../../storage/resources/declared-resource.ts'
import { type ResourceDeclaration, resourceMethods } from '../../storage/resources/resource-methods.ts'
import type { SignatureVerifierRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { parseTrust } from './trusted-verifier.ts'

/** Signature verifiers of groups. They apply to the repos of their group and of all groups below it. */

const signatureVerifiers = ({
  db,
}: Store): ResourceDeclaration<
  'signature_verifiers',
  typeof SignatureVerifierSchema,
  ListSignatureVerifiersRequest
> => ({
  table: 'signature_verifiers',
  schema: SignatureVerifierSchema,
  isCached: true,
  toMessages: (rows) => rows.map(toSignatureVerifier),
  lockParent: lockGroup,
  write: {
    checks({ next }) {
      const parsed = parseTrust(next)
      return [
        checkName(next.name),
        checkDescription(next.description),
        ...('violations' in parsed ? parsed.violations : []),
      ]
    },
    afterWrite: ({ tx, parent }) => queueAllSignedImages(db, tx, parent),
    columns: ({ next: { name, description, method } }) => ({
      name,
      description,
      method: toBinary(SignatureVerifierSchema, create(SignatureVerifierSchema, { method })),
    }),
    alreadyExists: (_call, parent) =>
      alreadyExists(
        resourceType(SignatureVerifierSchema),
        parent,
        'the group already has a signature verifier with this name',
      ),
  },
  beforeDelete: (tx, { parent }) => queueAllSignedImages(db, tx, parent),
})

export function signatureVerifiersService(store: Store) {
  return implement(
    SignatureVerifiersService,
    resourceMethods(store, SignatureVerifiersService, signatureVerifiers(store)),
  )
}

function toSignatureVerifier(row: SignatureVerifierRow): SignatureVerifier {
  const { uid, name, description, created_ms, updated_ms } = row
  return create(SignatureVerifierSchema, {
    uid,
    name,
    description,
    method: fromBinary(SignatureVerifierSchema, row.method).method,
    createTime: timestampOf(Number(created_ms)),
    updateTime: timestampOf(Number(updated_ms)),
  })
}
