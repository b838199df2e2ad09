package bus

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"math/big"
	"time"

	"redline/internal/text"
)

// keys are made from the join token alone, so that nothing else is handed
// around. A server shows its public key to anybody who connects: the token is
// stretched, so that guessing it from there is slow too.
type keys struct{ master []byte }

func newKeys(token string) (keys, error) {
	const rounds = 100_000
	master, err := pbkdf2.Key(sha256.New, token, []byte("redline join token"), rounds, sha256.Size)
	return keys{master}, err
}

func (k keys) derive(purpose string) []byte {
	key, err := hkdf.Key(sha256.New, k.master, nil, purpose, 32)
	if err != nil {
		panic(err) // only for keys of several kilobytes
	}
	return key
}

// box seals the messages of one subject: with a key for each subject, none
// opens under another, and none seals so much that random nonces could meet.
func (k keys) box(subject string) box {
	block, err := aes.NewCipher(k.derive("seal " + subject))
	if err != nil {
		panic(err) // only for keys of another length
	}
	sealer, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // only for ciphers of another block size
	}
	return box{sealer}
}

type box struct{ sealer cipher.AEAD }

// seal binds data to what it belongs to: an answer to its question.
func (b box) seal(data []byte, of string) []byte {
	return b.sealer.Seal(nil, nil, data, []byte(of))
}

func (b box) open(sealed []byte, of string) ([]byte, error) {
	return b.sealer.Open(nil, nil, sealed, []byte(of))
}

// nonceOf names a sealed message: no two have the same.
func nonceOf(sealed []byte) string {
	const size = 12
	return string(sealed[:min(size, len(sealed))])
}

// proof shows that the token is known, and tells nothing of it.
func (k keys) proof() string { return hex.EncodeToString(k.derive("NATS")) }

// name is one that nobody else can think of for the same thing.
func (k keys) name(of string) string { return hex.EncodeToString(k.derive("name " + of)[:16]) }

// mark tells one token from another, and nothing else of them.
func (k keys) mark() string { return hex.EncodeToString(k.derive("mark")[:8]) }

func (k keys) signer() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(k.derive("TLS server")) }

// commonName tells certificates of conductors from those of clusters.
const commonName = "redline conductor"

// certificate is what an embedded server shows. Only its key counts.
func (k keys) certificate() (tls.Certificate, error) {
	key := k.signer()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: commonName},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// client verifies that a server has the key that the token gives or, being a
// cluster of somebody's, a certificate that this machine trusts. What is wrong
// goes to report too.
func (k keys) client(report func(error)) *tls.Config {
	own := k.signer().Public().(ed25519.PublicKey)
	verify := func(state tls.ConnectionState) error {
		leaf := state.PeerCertificates[0]
		if own.Equal(leaf.PublicKey) {
			return nil
		}
		if leaf.Subject.CommonName == commonName {
			return &refusal{fmt.Sprintf("%s: the server at %s has another key than the one that this token gives", errToken, state.ServerName)}
		}
		between := x509.NewCertPool()
		for _, c := range state.PeerCertificates[1:] {
			between.AddCert(c)
		}
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: state.ServerName, Intermediates: between}); err != nil {
			return &refusal{fmt.Sprintf("the server at %s is not trusted: %s; SSL_CERT_FILE names certificates to trust", state.ServerName, text.Line(err.Error()))}
		}
		return nil
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // verified below, by the key
		VerifyConnection: func(state tls.ConnectionState) error {
			err := verify(state)
			if err != nil {
				report(err)
			}
			return err
		},
	}
}
