package wire

// Metadata is what a document says of itself besides its pages, as metadata.json tells it.
type Metadata struct {
	// XMP is the packet as it is in the document, cut at 256 KiB; Fields are its usual properties and those of PDF/A and
	// PDF/UA, by their usual names: dc:title, xmp:CreatorTool, pdfaid:part.
	XMP    string            `json:"xmp,omitempty"`
	Fields map[string]string `json:"xmpFields,omitempty"`
	// Claims are the standards that the document says it keeps, e.g. PDF/A-2b, PDF/UA-1.
	Claims []string `json:"claims,omitempty"`
	// PageLabels are the labels of the first pages, where they differ from the numbers.
	PageLabels  []string     `json:"pageLabels,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
	Permissions *Permissions `json:"permissions,omitempty"`
	Signatures  []Signature  `json:"signatures,omitempty"`
	// Form is AcroForm, XFA or empty.
	Form string `json:"form,omitempty"`
}

// Attachment is a file that is embedded in the document.
type Attachment struct {
	Name string `json:"name"`
	// Size in bytes, inflated; -1 where it could not be read, or those before it were large.
	Size     int64  `json:"size"`
	MIME     string `json:"mime,omitempty"`
	Modified string `json:"modified,omitempty"`
}

// Permissions are what an encrypted document allows those who open it with the user's password.
type Permissions struct {
	Bits           uint32 `json:"bits"`
	Print          bool   `json:"print"`
	PrintFine      bool   `json:"printFine"`
	Modify         bool   `json:"modify"`
	Copy           bool   `json:"copy"`
	Annotate       bool   `json:"annotate"`
	FillForms      bool   `json:"fillForms"`
	Accessibility  bool   `json:"accessibility"`
	Assemble       bool   `json:"assemble"`
	EncryptionName string `json:"encryption,omitempty"`
}

// Signature is a digital signature as the document states it; nothing of it is verified.
type Signature struct {
	SubFilter string `json:"subFilter,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Time      string `json:"time,omitempty"`
	// WholeFile says that it covers all of the file but itself: nothing was added since.
	WholeFile bool `json:"wholeFile"`
	// ModificationAllowed is what a certification allows: 1 nothing, 2 filling in forms, 3 annotating too; 0 for an
	// ordinary signature.
	ModificationAllowed int `json:"modificationAllowed,omitempty"`
}
