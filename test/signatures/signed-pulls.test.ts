import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { onEveryDatabase } from '../support/api/api-fixture.ts'
import { policiesOf } from '../support/api/policies.ts'
import { eventually } from '../support/eventually.ts'
import { assertOciError, imageFromManifest, putManifest, types } from '../support/registry/registry.ts'
import { ecKey, issueCertificate, type KeyPair, publicPem } from '../support/signatures/certificates.ts'
import { cosignLayer, testLog } from '../support/signatures/cosign-signatures.ts'
import { createSignedImages, VERIFIERS } from '../support/signatures/signed-images.ts'

/** Pulls of signed images under the policy `signed-by`: the stored results decide, and are verified in the background. */

const IDENTITY = 'https://github.com/acme/app/.github/workflows/release.yaml@refs/heads/main'
const trustIn = (keys: KeyPair) => ({ publicKey: { key: publicPem(keys) } })

onEveryDatabase(
  'signatures of pulled images',
  (cast) => {
    const prepared = async (options: { readonly folder?: string } = {}) => {
      const images = await createSignedImages(cast(), options)
      const policies = policiesOf(cast().berth, images.api.token)
      const pull = (reference: string = images.image.digest) =>
        images.owner.request('GET', `${images.name}/manifests/${reference}`)
      /** Resolves when nothing waits to be verified. */
      const verified = () => {
        const { kysely } = cast().berth.berth.installation.store.db
        return eventually(async () => {
          const rows = await kysely.selectFrom('signature_changes').select('digest').execute()
          return rows.length === 0
        })
      }
      const becomes = (status: number) => eventually(async () => (await pull()).status === status)
      const requires = (identity: string, parent: string = images.root) =>
        policies.bind(parent, 'signed-by', { identities: [identity] })
      return { ...images, policies, pull, verified, becomes, requires }
    }
    /** An allowed pull is not evaluated again for some seconds. */
    const forgetAllowed = () => cast().berth.advance(limits.policyVerdictMs)
    const reasonOf = (reply: { json: { errors: { message: string }[] } }) =>
      reply.json.errors[0]?.message ?? ''

    test('a signature counts from its push to its deletion, by the name and the uid of its verifier', async () => {
      const images = await prepared()
      const keys = ecKey()
      const { uid } = await images.verifier(trustIn(keys))
      await images.requires('verifier:release')
      const unsigned = await images.pull()
      assertOciError(unsigned, 403, 'DENIED')
      assert.match(reasonOf(unsigned), /it has no verified signature, and must be signed by verifier:release/)
      const signature = await images.cosign([cosignLayer(images.image.digest, keys)])
      await images.verified()
      assert.equal((await images.pull()).status, 200)
      await images.requires(`verifier:${uid}`)
      assert.equal((await images.pull()).status, 200)
      const gone = await images.owner.request('DELETE', `${images.name}/manifests/${signature}`)
      assert.equal(gone.status, 202)
      await images.verified()
      forgetAllowed()
      assertOciError(await images.pull(), 403, 'DENIED')
    })

    test('a result that is not current is unknown, never an earlier one, and is verified again', async () => {
      const images = await prepared()
      const keys = ecKey()
      const verifier = await images.verifier(trustIn(keys))
      await images.requires('*')
      await images.cosign([cosignLayer(images.image.digest, keys)])
      await images.verified()
      assert.equal((await images.pull()).status, 200)
      // The images of the group are verified again, and no longer by this key.
      const other = { ...verifier, ...trustIn(ecKey()) }
      const path = `${VERIFIERS}/${verifier.uid}`
      assert.equal((await images.api.patch(path, other)).status, 200)
      await images.verified()
      forgetAllowed()
      assert.match(reasonOf(await images.pull()), /it has no verified signature/)
      assert.equal((await images.api.patch(path, { ...other, ...trustIn(keys) })).status, 200)
      await images.verified()
      await images.becomes(200)
      // A result that was lost, as by a restore, is unknown, and the pull queues it.
      const { kysely } = cast().berth.berth.installation.store.db
      await kysely.updateTable('image_signatures').set({ inputs: 'outdated' }).execute()
      forgetAllowed()
      const outdated = await images.pull()
      assertOciError(outdated, 403, 'DENIED')
      assert.match(reasonOf(outdated), /signers is not known: its signatures are not verified yet/)
      await images.becomes(200)
    })

    test('the signature of an index counts for its images, and for the index', async () => {
      const images = await prepared()
      const keys = ecKey()
      await images.verifier(trustIn(keys))
      const index = imageFromManifest({
        schemaVersion: 2,
        mediaType: types.index,
        manifests: [images.image.descriptor],
      })
      assert.equal((await putManifest(images.owner, images.name, 'multi', index)).status, 201)
      await images.cosign([cosignLayer(index.digest, keys)], { of: { ...index, blobs: [] } })
      await images.requires('verifier:release')
      await images.verified()
      assert.equal((await images.pull('multi')).status, 200)
      assert.equal((await images.pull()).status, 200)
    })

    test('verifiers below the group of a binding do not count: a folder cannot declare who must sign', async () => {
      const images = await prepared({ folder: 'team' })
      const keys = ecKey()
      await images.verifier(trustIn(keys), { group: images.group })
      await images.cosign([cosignLayer(images.image.digest, keys)])
      await images.verified()
      await images.requires('verifier:release', images.group)
      assert.equal((await images.pull()).status, 200)
      const { id } = await images.requires('verifier:release', images.repo)
      assert.equal((await images.pull()).status, 200)
      await images.policies.request('DELETE', `bindings/${id}`)
      await images.requires('verifier:release', images.root)
      const denied = await images.pull()
      assertOciError(denied, 403, 'DENIED')
      assert.match(reasonOf(denied), /it has no verified signature/)
    })

    test('a certificate signs with its identity, which cannot pass for a verifier', async () => {
      const images = await prepared()
      const log = testLog(ecKey())
      const root = issueCertificate({ subject: { CN: 'root' }, ca: true })
      await images.verifier({
        certificate: {
          authorities: root.pem,
          identityPattern: '.*',
          issuerPattern: '.*',
          logKeys: [log.publicKey],
        },
      })
      await images.requires('https://github.com/acme/*')
      const leaf = issueCertificate({ issuer: root, uri: IDENTITY, oidcIssuer: 'https://issuer.example' })
      await images.cosign([cosignLayer(images.image.digest, leaf, { log })])
      await images.verified()
      assert.equal((await images.pull()).status, 200)
    })
  },
  { signaturesPollMs: 10 },
)
